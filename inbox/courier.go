package inbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/flowgate-go/flowgate/db"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/internal/history"
)

const (
	takenAtATime  = 50               // messages of one poll
	lookedAtATime = 10_000           // messages that wait, of one poll
	sweptAtATime  = 1000             // old messages
	deliverTime   = 10 * time.Second // one message
	sweptEvery    = 60               // polls
	mostTroubled  = 3                // runs of one poll
	longestPause  = 30 * time.Second // until a message is tried again
	busyPause     = time.Second      // until a message is tried again that the run does not take now
)

// Run delivers held messages when their run or hook is there, and gives up those whose deadline has passed, until ctx ends.
// Then it ends what is under way and returns nil. The engine must run as long. Several may run on one database, in one
// process or in several: a message is taken by one of them at a time, and taken again when that is gone.
func (b *Inbox) Run(ctx context.Context) error {
	timer := time.NewTimer(b.pause())
	defer timer.Stop()
	for untilSweep := 0; ; untilSweep-- {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		if untilSweep == 0 {
			untilSweep = b.sweep(ctx)
		}
		more, err := b.poll(ctx)
		if err != nil && !errors.Is(err, engine.ErrUnavailable) {
			b.cfg.Logger.Error().Err(err).Msg("the inbox cannot be worked on; it is tried again")
		}
		if more {
			timer.Reset(0)
		} else {
			timer.Reset(b.pause())
		}
	}
}

// sweep deletes old messages, and says after how many polls to do it again: the next one while there are more, or more would
// be delivered than go.
func (b *Inbox) sweep(ctx context.Context) (polls int) {
	n, err := b.store.SweepMessages(ctx, sweptAtATime, b.cfg.Keep)
	if err != nil && !errors.Is(err, engine.ErrUnavailable) {
		b.cfg.Logger.Error().Err(err).Msg("the inbox cannot be swept; it is tried again")
	}
	if n == sweptAtATime {
		return 1
	}
	return sweptEvery
}

// pause is the time until the next poll. Processes that began together do not ask together for long.
func (b *Inbox) pause() time.Duration {
	var raw [8]byte
	if _, err := io.ReadFull(b.cfg.Random, raw[:]); err != nil {
		return b.cfg.Poll
	}
	part := float64(binary.BigEndian.Uint64(raw[:])>>11) / (1 << 53)
	return time.Duration(float64(b.cfg.Poll) * (0.8 + 0.4*part))
}

// poll delivers what can be delivered now, and says whether there may be more. It looks at so many of those that wait, and
// goes on behind them the next time: what a poll costs does not grow with the inbox.
func (b *Inbox) poll(ctx context.Context) (more bool, err error) {
	window, n, err := b.store.HeldWindow(ctx, b.after.Load(), lookedAtATime)
	if err != nil {
		return false, err
	}
	var taken []db.StoredMessage
	if n > 0 {
		if taken, err = b.store.TakeMessages(ctx, window, takenAtATime, b.cfg.Lease); err != nil {
			return false, err
		}
	}
	switch {
	case len(taken) == takenAtATime: // those that are not taken now are not asked for again before the others were
		more = true
		b.after.Store(taken[len(taken)-1].Row)
	case n == lookedAtATime:
		b.after.Store(window.UpTo)
	default:
		b.after.Store(0)
	}
	return more, b.deliverAll(ctx, taken)
}

// deliverAll delivers what was taken. A message that meets trouble waits a while, with what comes after it for its run, and
// holds nobody else up; when several runs meet it, the trouble is not theirs, and the rest waits, too.
func (b *Inbox) deliverAll(ctx context.Context, taken []db.StoredMessage) error {
	begun, troubled := b.cfg.Clock(), map[history.RunKey]time.Duration{}
	for i, m := range taken {
		// What is left of the lease must do for a message: else another one may be at it.
		if ctx.Err() != nil || b.cfg.Clock().Sub(begun) > b.cfg.Lease/2 {
			return b.giveBack(ctx, taken[i:], 0)
		}
		pause, known := troubled[m.Run()]
		if !known {
			trouble := b.try(ctx, m)
			if trouble == nil {
				continue
			}
			if !errors.Is(trouble, engine.ErrUnavailable) {
				b.cfg.Logger.Error().Err(trouble).Str("source", m.Source).Str("letter", letterID(m.Row)).
					Msg("a message cannot be delivered; it is tried again")
			}
			pause = pauseOf(m)
			troubled[m.Run()] = pause
		}
		if err := b.giveBack(ctx, taken[i:i+1], pause); err != nil || len(troubled) == mostTroubled {
			return errors.Join(err, b.giveBack(ctx, taken[i+1:], busyPause))
		}
	}
	return nil
}

// pauseOf is the pause until a message is tried again that could not be delivered: it grows with the tries.
func pauseOf(m db.StoredMessage) time.Duration {
	return min(time.Duration(m.Attempt)*busyPause, longestPause)
}

// giveBack lets messages be taken again.
func (b *Inbox) giveBack(ctx context.Context, all []db.StoredMessage, pause time.Duration) error {
	ctx = context.WithoutCancel(ctx)
	for _, m := range all {
		if _, err := b.store.PostponeMessage(ctx, m, pause); err != nil {
			return err // the lease ends by itself
		}
	}
	return nil
}

// try delivers a message that was taken, and stores what became of it. An error is our own trouble.
func (b *Inbox) try(ctx context.Context, m db.StoredMessage) error {
	// What has begun ends, also when the process is told to stop: it is a commit away.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), deliverTime)
	defer cancel()
	ctx = engine.WithTrail(ctx, engine.Trail{Method: engine.TrailIngress, Credential: m.Source})
	_, err := b.deliver(ctx, Message{
		Namespace: m.Key.Namespace, Source: m.Source, ID: m.Key.ID, Kind: Kind(m.Kind), RunID: m.RunID, Name: m.Name, Payload: m.Payload,
	})
	reason := refusedFor(err)
	switch {
	case err == nil:
		_, err = b.store.SettleMessage(ctx, m, db.MessageDelivered, "")
		return err
	case reason != "":
		return b.bury(ctx, m, reason)
	case absentFor(err) != "" && m.Late:
		return b.bury(ctx, m, ReasonExpired)
	case absentFor(err) != "":
		return b.wait(ctx, m)
	case errors.Is(err, engine.ErrBacklogFull):
		_, err = b.store.PostponeMessage(ctx, m, pauseOf(m))
	}
	return err
}

// wait gives a message back whose hook was not there although it was taken: its run has ended, and the hook never comes, or
// it was a close thing.
func (b *Inbox) wait(ctx context.Context, m db.StoredMessage) error {
	view, err := b.store.ReadRun(ctx, m.Run())
	switch {
	case err == nil && view.Status.Ended():
		return b.bury(ctx, m, ReasonRunEnded)
	case err != nil && !errors.Is(err, engine.ErrRunNotFound):
		return err
	}
	_, err = b.store.PostponeMessage(ctx, m, busyPause)
	return err
}

// bury makes a message a dead letter.
func (b *Inbox) bury(ctx context.Context, m db.StoredMessage, reason Reason) error {
	changed, err := b.store.SettleMessage(ctx, m, db.MessageDead, string(reason))
	if err == nil && changed {
		b.cfg.Logger.Warn().Str("source", m.Source).Str("reason", string(reason)).Str("letter", letterID(m.Row)).
			Msg("a message cannot be delivered: it is a dead letter")
	}
	return err
}
