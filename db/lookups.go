package db

import (
	"context"
	"slices"
	"sync"
)

// lookups answers questions of one kind that are asked at about the same time by one statement: whoever asks while fewer
// than leaders statements are under way sends one, for itself and for all who wait; when it returns, one of those who came
// meanwhile sends the next. A lone question goes at once. It is safe for concurrent use.
type lookups[Q, A any] struct {
	leaders int
	batch   int // questions of one statement
	// ask answers questions in their order. It must end by itself: it serves others than its caller.
	ask func(context.Context, []Q) ([]A, error)

	mu      sync.Mutex
	waiting []*lookup[Q, A]
	leading int
}

// lookup is one question on its way.
type lookup[Q, A any] struct {
	question Q
	chosen   bool          // to send a statement
	lead     chan struct{} // takes one: send it
	done     chan found[A] // takes one
}

type found[A any] struct {
	answer A
	err    error
}

// get asks a question. It returns early when ctx ends, unless it is sending a statement: that ends first, for the others.
func (l *lookups[Q, A]) get(ctx context.Context, question Q) (A, error) {
	me := &lookup[Q, A]{question: question, lead: make(chan struct{}, 1), done: make(chan found[A], 1)}
	l.mu.Lock()
	l.waiting = append(l.waiting, me)
	if l.leading < l.leaders {
		l.leading++
		me.choose()
	}
	l.mu.Unlock()
	for {
		select {
		case <-me.lead:
			l.send(ctx)
		case f := <-me.done:
			l.leave(me) // it may have been chosen to send when another one had its question already
			return f.answer, f.err
		case <-ctx.Done():
			l.leave(me)
			var none A
			return none, ctx.Err()
		}
	}
}

// leave ends the part of an asker who goes, answered or not: its question is taken back if it waits, and if it was its turn
// to send a statement, that is another one's now.
func (l *lookups[Q, A]) leave(me *lookup[Q, A]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(w *lookup[Q, A]) bool { return w == me })
	select {
	case <-me.lead:
		l.next()
	default:
	}
}

// next lets the one who waits longest send the next statement.
func (l *lookups[Q, A]) next() {
	for _, w := range l.waiting {
		if !w.chosen {
			w.choose()
			return
		}
	}
	l.leading--
}

func (w *lookup[Q, A]) choose() {
	w.chosen = true
	w.lead <- struct{}{}
}

// send sends the questions that wait.
func (l *lookups[Q, A]) send(ctx context.Context) {
	l.mu.Lock()
	n := min(len(l.waiting), l.batch)
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	l.mu.Unlock()
	if n > 0 {
		l.answer(ctx, batch)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next()
}

func (l *lookups[Q, A]) answer(ctx context.Context, batch []*lookup[Q, A]) {
	questions := make([]Q, len(batch))
	for i, w := range batch {
		questions[i] = w.question
	}
	answers, err := l.ask(context.WithoutCancel(ctx), questions)
	for i, w := range batch {
		f := found[A]{err: err}
		if err == nil {
			f.answer = answers[i]
		}
		w.done <- f
	}
}
