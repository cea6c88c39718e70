package db

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowgate-go/flowgate/db/internal/sqlc"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/internal/history"
	"github.com/flowgate-go/flowgate/spec"
)

// storedRun is a run's record with the key of its row.
type storedRun struct {
	ID   int64
	Run  history.Run
	bare bool // the record lacks the labels that the run has
}

func runRecord(row sqlc.Run) (history.Run, error) {
	labels, err := labelsOf(row.Labels)
	if err != nil {
		return history.Run{}, err
	}
	specDigest, err := canon.FromBytes(row.SpecDigest)
	if err != nil {
		return history.Run{}, fmt.Errorf("spec of run row %d: %w", row.ID, err)
	}
	inputDigest, err := canon.FromBytes(row.InputDigest)
	if err != nil {
		return history.Run{}, fmt.Errorf("input of run row %d: %w", row.ID, err)
	}
	parent, err := parentOf(row.Parent)
	if err != nil {
		return history.Run{}, fmt.Errorf("parent of run row %d: %w", row.ID, err)
	}
	return history.Run{
		Key:      history.RunKey{Namespace: spec.Namespace(row.Namespace), RunID: spec.RunID(row.RunID)},
		Workflow: row.Workflow, Version: row.Version, SpecDigest: specDigest, InputDigest: inputDigest, Labels: labels, Parent: parent,
		Status: history.Status(row.Status), Generation: int(row.Generation), FirstSeq: row.FirstSeq, NextSeq: row.NextSeq,
		Backlog: int(row.Backlog), CancelRequestedAt: utc(row.CancelRequestedAt), CancelSeq: orZero(row.CancelSeq),
		BlockCause: history.BlockCause(orZero(row.BlockCause)), BlockDiagnosis: orZero(row.BlockDiagnosis),
		BlockAttempts: int(row.BlockAttempts), WakeAt: utc(row.WakeAt),
		StartedAt: row.StartedAt.UTC(), UpdatedAt: row.UpdatedAt.UTC(), ClosedAt: utc(row.ClosedAt),
	}, nil
}

func signalRecord(row sqlc.Signal) (history.Signal, error) {
	digest, err := canon.FromBytes(row.Digest)
	if err != nil {
		return history.Signal{}, fmt.Errorf("signal of run row %d: %w", row.Run, err)
	}
	s := history.Signal{
		ID: spec.SignalID(row.SignalID), Name: row.Name, Digest: digest, Seq: row.Seq, ReceivedAt: row.ReceivedAt.UTC(),
		Source: row.Source, Actor: row.Actor,
	}
	if row.ConsumedBy != nil {
		s.ConsumedBy = &history.Consumption{WaitID: spec.WaitID(*row.ConsumedBy), Generation: int(orZero(row.ConsumedGeneration))}
	}
	return s, nil
}

var requesterKey = []byte(`"requester"`)

// hookRecord reads a whole hook row.
func hookRecord(row sqlc.Hook) (history.Hook, error) {
	h, err := hookAnswer(row)
	if err != nil {
		return history.Hook{}, err
	}
	if err := json.Unmarshal(row.Metadata, &h.Metadata); err != nil {
		return history.Hook{}, fmt.Errorf("metadata of hook row %d: %w", row.ID, err)
	}
	if copy(h.Grant.Digest[:], row.TokenDigest) != len(row.TokenDigest) {
		return history.Hook{}, fmt.Errorf("token digest of hook row %d has %d bytes", row.ID, len(row.TokenDigest))
	}
	h.Grant.DigestKey, h.Grant.MintKey, h.Grant.Nonce = row.DigestKey, orZero(row.MintKey), row.Nonce
	return h, nil
}

// hookAnswer reads what accepting needs of a hook row: everything but its grant and, of its metadata, all but who asks.
func hookAnswer(row sqlc.Hook) (history.Hook, error) {
	h := history.Hook{
		ID: spec.HookID(row.HookID), Name: row.Name, State: history.HookState(row.State), CreatedAt: row.CreatedAt.UTC(),
		ExpiresAt: utc(row.ExpiresAt), ResolvedAt: utc(row.ResolvedAt), ResolvedSeq: orZero(row.ResolvedSeq),
		Source: row.Source, Actor: row.Actor,
	}
	if bytes.Contains(row.Metadata, requesterKey) { // the member, or else a text of the author's: most hooks have neither
		var asks struct {
			Requester string `json:"requester"`
		}
		if err := json.Unmarshal(row.Metadata, &asks); err != nil {
			return history.Hook{}, fmt.Errorf("metadata of hook row %d: %w", row.ID, err)
		}
		h.Metadata.Requester = asks.Requester
	}
	if row.PayloadDigest == nil {
		return h, nil
	}
	digest, err := canon.FromBytes(row.PayloadDigest)
	if err != nil {
		return history.Hook{}, fmt.Errorf("answer of hook row %d: %w", row.ID, err)
	}
	h.PayloadDigest = digest
	return h, nil
}

// addEvents adds a run's new events to the rows to insert.
func addEvents(p *sqlc.AppendEventsParams, run int64, events []history.Event) error {
	for _, e := range events {
		enc, err := history.Encode(e)
		if err != nil {
			return fmt.Errorf("encode event %d of run row %d: %w", e.Seq, run, err)
		}
		p.Runs = append(p.Runs, run)
		p.Seqs = append(p.Seqs, e.Seq)
		p.Generations = append(p.Generations, int32(e.Generation))
		p.Types = append(p.Types, enc.Type)
		p.Ats = append(p.Ats, e.At)
		p.Datas = append(p.Datas, enc.Data)
		p.Payloads = append(p.Payloads, enc.Payload)
	}
	return nil
}

// addSettled adds a hook that was answered or closed to the rows to update.
func addSettled(p *sqlc.SettleHooksParams, run int64, h history.Hook) {
	var digest []byte
	if h.State == history.StateResumed {
		digest = h.PayloadDigest[:]
	}
	p.Runs = append(p.Runs, run)
	p.HookIds = append(p.HookIds, string(h.ID))
	p.States = append(p.States, string(h.State))
	p.PayloadDigests = append(p.PayloadDigests, digest)
	p.ResolvedAts = append(p.ResolvedAts, orZero(h.ResolvedAt))
	p.ResolvedSeqs = append(p.ResolvedSeqs, h.ResolvedSeq)
	p.Sources = append(p.Sources, h.Source)
	p.Actors = append(p.Actors, h.Actor)
}

func labelsOf(text []byte) (spec.Labels, error) {
	if string(text) == "{}" {
		return nil, nil
	}
	var labels spec.Labels
	if err := json.Unmarshal(text, &labels); err != nil {
		return nil, fmt.Errorf("stored labels: %w", err)
	}
	return labels, nil
}

// labelsJSON is the stored form of labels.
func labelsJSON(labels spec.Labels) (json.RawMessage, error) {
	if len(labels) == 0 {
		return json.RawMessage("{}"), nil
	}
	return json.Marshal(labels)
}

// parentOf reads who asked for a run; nil when nobody did.
func parentOf(text []byte) (*history.Parent, error) {
	if len(text) == 0 {
		return nil, nil
	}
	parent := &history.Parent{}
	if err := json.Unmarshal(text, parent); err != nil {
		return nil, err
	}
	return parent, nil
}

// utc gives every time that leaves the door one location.
func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
