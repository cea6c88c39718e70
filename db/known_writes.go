package db

import (
	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// knownSignals are signals to known runs that get several, to be written by one statement.
type knownSignals struct {
	runs   []*foreseen
	params sqlc.AcceptKnownParams
	held   *[]sqlc.AcceptKnownRow
}

func (k *knownSignals) add(f *foreseen) error {
	k.runs = append(k.runs, f)
	p := &k.params
	p.Ids = append(p.Ids, f.id)
	p.NextSeqs = append(p.NextSeqs, f.known.Run.NextSeq)
	p.WakeAts = append(p.WakeAts, orZero(f.known.Run.WakeAt))
	p.Messages = append(p.Messages, int32(len(f.Events)))
	for i, e := range f.Events {
		enc, err := history.Encode(e)
		if err != nil {
			return err
		}
		signal := f.Signals[f.NewSignals[i]]
		p.Places = append(p.Places, int32(len(k.runs)))
		p.Runs = append(p.Runs, f.id)
		p.SignalIds = append(p.SignalIds, string(signal.ID))
		p.Names = append(p.Names, signal.Name)
		p.Digests = append(p.Digests, signal.Digest[:])
		p.Seqs = append(p.Seqs, e.Seq)
		p.Generations = append(p.Generations, int32(e.Generation))
		p.Sources = append(p.Sources, signal.Source)
		p.Actors = append(p.Actors, signal.Actor)
		p.Datas = append(p.Datas, enc.Data)
		p.Payloads = append(p.Payloads, enc.Payload)
	}
	return nil
}

func (k *knownSignals) queue(p *pipeline) {
	if len(k.runs) > 0 {
		k.held = queueRows[sqlc.AcceptKnownRow](p, sqlc.AcceptKnown, k.params)
	}
}

func (k *knownSignals) note() {
	for _, row := range orZero(k.held) {
		k.runs[row.Place-1].at = row.At.UTC()
	}
}

// knownSingles are signals to known runs that get one each, to be written by one statement.
type knownSingles struct {
	runs   []*foreseen
	params sqlc.SignalKnownParams
	held   *[]sqlc.SignalKnownRow
}

func (k *knownSingles) add(f *foreseen) error {
	enc, err := history.Encode(f.Events[0])
	if err != nil {
		return err
	}
	signal := f.Signals[f.NewSignals[0]]
	k.runs = append(k.runs, f)
	p := &k.params
	p.Ids = append(p.Ids, f.id)
	p.NextSeqs = append(p.NextSeqs, f.known.Run.NextSeq)
	p.WakeAts = append(p.WakeAts, orZero(f.known.Run.WakeAt))
	p.Generations = append(p.Generations, int32(f.known.Run.Generation))
	p.SignalIds = append(p.SignalIds, string(signal.ID))
	p.Names = append(p.Names, signal.Name)
	p.Digests = append(p.Digests, signal.Digest[:])
	p.Sources = append(p.Sources, signal.Source)
	p.Actors = append(p.Actors, signal.Actor)
	p.Datas = append(p.Datas, enc.Data)
	p.Payloads = append(p.Payloads, enc.Payload)
	return nil
}

func (k *knownSingles) queue(p *pipeline) {
	if len(k.runs) > 0 {
		k.held = queueRows[sqlc.SignalKnownRow](p, sqlc.SignalKnown, k.params)
	}
}

func (k *knownSingles) note() {
	for _, row := range orZero(k.held) {
		k.runs[row.Place-1].at = row.At.UTC()
	}
}

// knownAnswers are answers to hooks of known runs, to be written by one statement.
type knownAnswers struct {
	runs   []*foreseen
	params sqlc.ResumeKnownParams
	held   *[]sqlc.ResumeKnownRow
}

func (k *knownAnswers) add(f *foreseen) error {
	enc, err := history.Encode(f.Events[0])
	if err != nil {
		return err
	}
	hook := f.Hooks[spec.HookID(f.hook)]
	k.runs = append(k.runs, f)
	p := &k.params
	p.Ids = append(p.Ids, f.id)
	p.NextSeqs = append(p.NextSeqs, f.known.Run.NextSeq)
	p.WakeAts = append(p.WakeAts, orZero(f.known.Run.WakeAt))
	p.Generations = append(p.Generations, int32(f.known.Run.Generation))
	p.HookIds = append(p.HookIds, f.hook)
	p.PayloadDigests = append(p.PayloadDigests, hook.PayloadDigest[:])
	p.Sources = append(p.Sources, hook.Source)
	p.Actors = append(p.Actors, hook.Actor)
	p.Datas = append(p.Datas, enc.Data)
	p.Payloads = append(p.Payloads, enc.Payload)
	return nil
}

func (k *knownAnswers) queue(p *pipeline) {
	if len(k.runs) > 0 {
		k.held = queueRows[sqlc.ResumeKnownRow](p, sqlc.ResumeKnown, k.params)
	}
}

func (k *knownAnswers) note() {
	for _, row := range orZero(k.held) {
		k.runs[row.Place-1].at = row.At.UTC()
	}
}

// knownStarts are starts of runs of which nothing is known, to be written by one statement.
type knownStarts struct {
	runs     []*foreseen
	params   sqlc.StartUnknownParams
	inserted *[]sqlc.StartUnknownRow
}

func (k *knownStarts) add(f *foreseen) error {
	enc, err := history.Encode(f.Events[0])
	if err != nil {
		return err
	}
	labels, err := labelsJSON(f.Run.Labels)
	if err != nil {
		return err
	}
	k.runs = append(k.runs, f)
	run, p := f.Run, &k.params
	p.Namespaces = append(p.Namespaces, string(run.Key.Namespace))
	p.RunIds = append(p.RunIds, string(run.Key.RunID))
	p.Workflows = append(p.Workflows, run.Workflow)
	p.Versions = append(p.Versions, run.Version)
	p.SpecDigests = append(p.SpecDigests, run.SpecDigest[:])
	p.InputDigests = append(p.InputDigests, run.InputDigest[:])
	p.Labels = append(p.Labels, labels)
	p.Datas = append(p.Datas, enc.Data)
	p.Payloads = append(p.Payloads, enc.Payload)
	return nil
}

func (k *knownStarts) queue(p *pipeline) {
	if len(k.runs) > 0 {
		k.inserted = queueRows[sqlc.StartUnknownRow](p, sqlc.StartUnknown, k.params)
	}
}

func (k *knownStarts) note() {
	for _, row := range orZero(k.inserted) {
		f := k.runs[row.Place-1]
		f.at, f.id = row.At.UTC(), row.ID
	}
}

// knownOutcomes are outcomes of tasks of known runs, to be written by one statement.
type knownOutcomes struct {
	runs   []*foreseen
	params sqlc.SettleKnownParams
	held   *[]sqlc.SettleKnownRow
}

func (k *knownOutcomes) add(f *foreseen) error {
	enc, err := history.Encode(f.Events[0])
	if err != nil {
		return err
	}
	k.runs = append(k.runs, f)
	p := &k.params
	p.Ids = append(p.Ids, f.id)
	p.NextSeqs = append(p.NextSeqs, f.known.Run.NextSeq)
	p.WakeAts = append(p.WakeAts, orZero(f.known.Run.WakeAt))
	p.Generations = append(p.Generations, int32(f.known.Run.Generation))
	p.Kinds = append(p.Kinds, string(f.task.Task.Kind))
	p.TaskIds = append(p.TaskIds, f.task.Task.ID)
	p.Attempts = append(p.Attempts, int32(f.task.Attempt))
	p.Types = append(p.Types, enc.Type)
	p.Datas = append(p.Datas, enc.Data)
	p.Payloads = append(p.Payloads, enc.Payload)
	return nil
}

func (k *knownOutcomes) queue(p *pipeline) {
	if len(k.runs) > 0 {
		k.held = queueRows[sqlc.SettleKnownRow](p, sqlc.SettleKnown, k.params)
	}
}

func (k *knownOutcomes) note() {
	for _, row := range orZero(k.held) {
		k.runs[row.Place-1].at = row.At.UTC()
	}
}
