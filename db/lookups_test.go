package db

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

// library answers questions when it is let, and remembers what was asked together.
type library struct {
	lookups[int, int]
	t    *testing.T
	let  chan error // one value answers one statement
	mu   sync.Mutex
	sent [][]int
}

func newLibrary(t *testing.T, leaders, batch int) *library {
	l := &library{t: t, let: make(chan error)}
	l.lookups = lookups[int, int]{leaders: leaders, batch: batch, ask: func(_ context.Context, questions []int) ([]int, error) {
		l.mu.Lock()
		l.sent = append(l.sent, questions)
		l.mu.Unlock()
		if err := <-l.let; err != nil {
			return nil, err
		}
		answers := make([]int, len(questions))
		for i, q := range questions {
			answers[i] = 10 * q
		}
		return answers, nil
	}}
	return l
}

// asked starts somebody who asks, and returns once the question waits or is being answered.
func (l *library) asked(ctx context.Context, question int) <-chan found[int] {
	l.t.Helper()
	done := make(chan found[int], 1)
	before := l.count()
	go func() {
		answer, err := l.get(ctx, question)
		done <- found[int]{answer, err}
	}()
	l.until("the question waits", func() bool { return l.count() > before })
	return done
}

// count is the number of questions that wait or were sent.
func (l *library) count() (n int) {
	l.lookups.mu.Lock()
	defer l.lookups.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, questions := range l.sent {
		n += len(questions)
	}
	return n + len(l.waiting)
}

func (l *library) statements() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sent)
}

func (l *library) until(what string, ok func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			l.t.Fatal("not in time: ", what)
		}
	}
}

func (l *library) wants(done <-chan found[int], answer int, err error) {
	l.t.Helper()
	if f := <-done; f.answer != answer || !errors.Is(f.err, err) {
		l.t.Errorf("%+v, want %d, %v", f, answer, err)
	}
}

// idle says that nobody sends and nobody waits: the next question goes at once.
func (l *library) idle() {
	l.t.Helper()
	l.lookups.mu.Lock()
	defer l.lookups.mu.Unlock()
	if l.leading != 0 || len(l.waiting) != 0 {
		l.t.Errorf("%d statements under way, %d questions wait", l.leading, len(l.waiting))
	}
}

func TestQuestionsOfOneTimeGoTogether(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 1, 3)
	first := l.asked(t.Context(), 1)
	l.until("it goes at once", func() bool { return l.statements() == 1 })
	var others []<-chan found[int]
	for q := 2; q <= 6; q++ {
		others = append(others, l.asked(t.Context(), q))
	}
	for range 3 {
		l.let <- nil
	}
	l.wants(first, 10, nil)
	for i, done := range others {
		l.wants(done, 10*(i+2), nil)
	}
	if sizes := []int{len(l.sent[0]), len(l.sent[1]), len(l.sent[2])}; len(l.sent) != 3 || sizes[1] != 3 || sizes[2] != 2 {
		t.Errorf("statements of %v questions", sizes)
	}
	l.idle()
}

// An error is that of all who asked together, and of nobody else.
func TestErrorOfAQuestion(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 1, 2)
	broken := errors.New("broken")
	first, second, third, fourth := l.asked(t.Context(), 1), l.asked(t.Context(), 2), l.asked(t.Context(), 3), l.asked(t.Context(), 4)
	for _, err := range []error{nil, broken, nil} {
		l.let <- err
	}
	l.wants(first, 10, nil)
	l.wants(second, 0, broken)
	l.wants(third, 0, broken)
	l.wants(fourth, 40, nil)
	l.idle()
}

// Who leaves takes the question along, and lets another one send when it was its turn.
func TestAskerLeaves(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, 2, 10)
	first, second := l.asked(t.Context(), 1), l.asked(t.Context(), 2)
	l.until("both statements are under way", func() bool { return l.statements() == 2 })
	ctx, leave := context.WithCancel(t.Context())
	third := l.asked(ctx, 3)
	leave()
	l.wants(third, 0, context.Canceled)
	fourth := l.asked(t.Context(), 4)
	l.let <- nil
	l.let <- nil
	l.let <- nil
	l.wants(first, 10, nil)
	l.wants(second, 20, nil)
	l.wants(fourth, 40, nil)
	for _, questions := range l.sent {
		for _, q := range questions {
			if q == 3 {
				t.Error("a question was sent whose asker had left")
			}
		}
	}
	l.idle()

	// The chosen one leaves before it has sent.
	me := &lookup[int, int]{question: 7, lead: make(chan struct{}, 1), done: make(chan found[int], 1)}
	l.lookups.mu.Lock()
	l.leading, l.waiting = 1, append(l.waiting, me)
	me.choose()
	l.lookups.mu.Unlock()
	l.leave(me)
	l.idle()
}

// Many ask, leave and are answered at random; in the end nobody waits.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	l := lookups[int, int]{leaders: 2, batch: 5, ask: func(_ context.Context, questions []int) ([]int, error) {
		return questions, nil
	}}
	var group sync.WaitGroup
	for worker := range 16 {
		group.Go(func() {
			for i := range 300 {
				ctx, leave := context.WithCancel(context.Background())
				if i%7 == worker%7 {
					leave()
				}
				question := 1000*worker + i
				if answer, err := l.get(ctx, question); err == nil && answer != question {
					t.Errorf("%d, want %d", answer, question)
				} else if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				leave()
			}
		})
	}
	group.Wait()
	if l.leading != 0 || len(l.waiting) != 0 {
		t.Errorf("%d statements under way, %d questions wait", l.leading, len(l.waiting))
	}
}
