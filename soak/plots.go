package main

import (
	"context"
	"slices"
	"time"
)

// plot is a kind of story.
type plot struct {
	name   string
	weight int
	atMost int64 // such stories in a round; 0: any number
	tell   func(context.Context, *story) error
}

// plots are the kinds of stories. Those with a bound leave a run open, or make a process slow.
var plots = []plot{
	{"answer", 20, 0, tellAnswer},
	{"expiry", 12, 0, tellExpiry},
	{"withdraw", 12, 0, tellWithdraw},
	{"first", 12, 0, tellFirst},
	{"quorum", 10, 0, tellQuorum},
	{"collect", 22, 0, tellCollect},
	{"short", 2, 15, tellShort},
	{"rounds", 10, 0, tellRounds},
	{"stop", 10, 0, tellStop},
	{"cancel", 5, 0, tellCancel},
	{"slow", 1, 5, tellBroken(slowFlow, modeOnce)},
	{"stuck", 1, 1, tellBroken(slowFlow, modeAlways)},
	{"panic", 1, 10, tellBroken(panicFlow, modeOnce)},
	{"crash", 2, 10, tellBroken(panicFlow, modeBroken)},
}

var plotWeights = func() (sum int) {
	for _, p := range plots {
		sum += p.weight
	}
	return sum
}()

// tellAnswer answers a hook.
func tellAnswer(ctx context.Context, s *story) error {
	if err := s.start(ctx, approvalFlow, input{}); err != nil {
		return err
	}
	l, _, err := s.link(ctx, answerHook)
	if err != nil {
		return err
	}
	if err := s.rest(ctx, 100); err != nil {
		return err
	}
	return s.send(ctx, s.rng, resumeMessage(s.run, answerHook, l.token, "ada"))
}

// tellExpiry answers a hook about when it expires, or never.
func tellExpiry(ctx context.Context, s *story) error {
	if err := s.start(ctx, approvalFlow, input{Expires: 200 + s.rng.IntN(1500)}); err != nil {
		return err
	}
	l, open, err := s.link(ctx, answerHook)
	if err != nil || !open || s.rng.IntN(4) == 0 {
		return err
	}
	early := ms(s.rng.IntN(60) - 20)
	if err := pause(ctx, max(time.Until(*l.expires)-early, 0)); err != nil {
		return err
	}
	return s.send(ctx, s.rng, resumeMessage(s.run, answerHook, l.token, "ada"))
}

// tellWithdraw has one caller withdraw a hook while another one answers it.
func tellWithdraw(ctx context.Context, s *story) error {
	if err := s.start(ctx, approvalFlow, input{}); err != nil {
		return err
	}
	l, _, err := s.link(ctx, answerHook)
	if err != nil {
		return err
	}
	withdrawal := disposeMessage(s.run, answerHook, l.token)
	if s.rng.IntN(3) == 0 {
		return s.send(ctx, s.rng, withdrawal)
	}
	return s.together(ctx, withdrawal, resumeMessage(s.run, answerHook, l.token, "ada"))
}

// tellFirst answers two hooks at once. The code withdraws the one that came second, where it still can.
func tellFirst(ctx context.Context, s *story) error {
	if err := s.start(ctx, firstFlow, input{}); err != nil {
		return err
	}
	a, _, err := s.link(ctx, "a")
	if err != nil {
		return err
	}
	b, open, err := s.link(ctx, "b")
	if err != nil {
		return err
	}
	answers := []message{resumeMessage(s.run, "a", a.token, "ada")}
	if open {
		answers = append(answers, resumeMessage(s.run, "b", b.token, "bob"))
	}
	if s.rng.IntN(2) == 0 {
		return s.together(ctx, append(answers, s.signal(stopSignal))...)
	}
	if err := s.together(ctx, answers...); err != nil {
		return err
	}
	return s.send(ctx, s.rng, s.signal(stopSignal))
}

// tellQuorum answers enough hooks of several, or too few before they expire.
func tellQuorum(ctx context.Context, s *story) error {
	in := input{Hooks: 5, Count: 3}
	answered := 3 + s.rng.IntN(3)
	if s.rng.IntN(4) == 0 {
		in.Expires, answered = 600, s.rng.IntN(4)
	}
	if err := s.start(ctx, quorumFlow, in); err != nil {
		return err
	}
	var answers []message
	for n := range answered {
		l, open, err := s.link(ctx, voter(n))
		if err != nil {
			return err
		}
		if open {
			answers = append(answers, resumeMessage(s.run, voter(n), l.token, voter(n)))
		}
	}
	return s.together(ctx, answers...)
}

// tellCollect sends more signals than the run reads, some of them at once.
func tellCollect(ctx context.Context, s *story) error {
	in := input{Count: 2 + s.rng.IntN(14), Every: s.rng.IntN(6)}
	if err := s.start(ctx, collectFlow, in); err != nil {
		return err
	}
	return s.signals(ctx, itemSignal, in.Count+s.rng.IntN(3))
}

// signals sends so many signals, now and then a bad one between them.
func (s *story) signals(ctx context.Context, name string, count int) error {
	var all []message
	for range count {
		all = append(all, s.signal(name))
		if s.rng.IntN(100) == 0 {
			all = append(all, s.bad())
		}
	}
	for some := range slices.Chunk(all, 1+s.rng.IntN(4)) {
		if err := s.together(ctx, some...); err != nil {
			return err
		}
	}
	return nil
}

// tellShort sends fewer signals than the run reads: it stays open.
func tellShort(ctx context.Context, s *story) error {
	if err := s.start(ctx, collectFlow, input{Count: 8, Every: 3}); err != nil {
		return err
	}
	return s.signals(ctx, itemSignal, s.rng.IntN(8))
}

// tellRounds sends signals that win some rounds against the time-out, lose others, and come too late in the end.
func tellRounds(ctx context.Context, s *story) error {
	in := input{Count: 3 + s.rng.IntN(3), Timeout: 150 + s.rng.IntN(350)}
	if err := s.start(ctx, roundsFlow, in); err != nil {
		return err
	}
	for range in.Count {
		if err := s.rest(ctx, 2*in.Timeout); err != nil {
			return err
		}
		if err := s.send(ctx, s.rng, s.signal(itemSignal)); err != nil {
			return err
		}
	}
	return nil
}

// tellStop ends a run while signals are on their way that it does not read.
func tellStop(ctx context.Context, s *story) error {
	if err := s.start(ctx, stopFlow, input{}); err != nil {
		return err
	}
	all := []message{s.signal(stopSignal)}
	for range 1 + s.rng.IntN(4) {
		all = append(all, s.signal(itemSignal))
	}
	return s.together(ctx, all...)
}

// tellCancel cancels a run, while the signal that ends it is on its way.
func tellCancel(ctx context.Context, s *story) error {
	if err := s.start(ctx, stopFlow, input{}); err != nil {
		return err
	}
	all := []message{cancelMessage(s.run), s.signal(itemSignal)}
	if s.rng.IntN(2) == 0 {
		all = append(all, s.signal(stopSignal))
	}
	return s.together(ctx, all...)
}

// tellBroken sends signals to a run whose code misbehaves: it takes them all the same.
func tellBroken(workflow, mode string) func(context.Context, *story) error {
	return func(ctx context.Context, s *story) error {
		in := input{Count: 3, Mode: mode}
		if err := s.start(ctx, workflow, in); err != nil {
			return err
		}
		return s.signals(ctx, itemSignal, in.Count)
	}
}
