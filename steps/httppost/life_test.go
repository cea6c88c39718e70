package httppost_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/steps/httppost"
)

// silent is a server that answers nothing until the test ends.
func silent(t *testing.T) (*receiver, <-chan struct{}) {
	asked, done := make(chan struct{}, 16), make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, *http.Request) { asked <- struct{}{}; <-done })
	t.Cleanup(func() { close(done) }) // before the receiver closes
	return r, asked
}

func TestSlowServers(t *testing.T) {
	t.Parallel()
	r, _ := silent(t)
	_, err := do(t, newPoster(t, r.reaching()), httppost.Input{URL: r.URL, Body: 1, Timeout: httppost.Duration(50 * time.Millisecond)})
	wantFailure(t, err, httppost.CodeTimeout, false)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	c := r.reaching()
	c.Timeout = 50 * time.Millisecond
	_, err = do(t, newPoster(t, c), httppost.Input{URL: r.URL, Body: 1})
	wantFailure(t, err, httppost.CodeTimeout, false)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = doIn(ctx, newPoster(t, r.reaching()), stepOf(t, httppost.Input{URL: r.URL, Body: 1}, 1))
	wantFailure(t, err, httppost.CodeTimeout, false)
}

func TestCancelledAttempts(t *testing.T) {
	t.Parallel()
	r, asked := silent(t)
	why := errors.New("the run ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-asked; cancel(why) }()
	_, err := doIn(ctx, newPoster(t, r.reaching()), stepOf(t, httppost.Input{URL: r.URL, Body: 1}, 1))
	wantFailure(t, err, httppost.CodeCancelled, false)
	if !errors.Is(err, why) {
		t.Errorf("%v does not say why", err)
	}
	_, err = doIn(ctx, newPoster(t, r.reaching()), stepOf(t, httppost.Input{URL: r.URL, Body: 1}, 1))
	wantFailure(t, err, httppost.CodeCancelled, false)
	if n := len(r.requests()); n != 1 {
		t.Errorf("%d requests, want the first only", n)
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	r, asked := silent(t)
	c := r.reaching()
	c.Concurrency = 1
	p := newPoster(t, c)
	failed := make(chan error, 2)
	for range 2 { // one is sent, one waits for its place
		go func() {
			_, err := doIn(context.Background(), p, stepOf(t, httppost.Input{URL: r.URL, Body: 1}, 1))
			failed <- err
		}()
	}
	<-asked
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	for range 2 {
		err := <-failed
		wantFailure(t, err, httppost.CodeCancelled, false)
		if !errors.Is(err, httppost.ErrClosed) {
			t.Error(err)
		}
	}
	_, err := do(t, p, httppost.Input{URL: r.URL, Body: 1})
	if !errors.Is(err, httppost.ErrClosed) {
		t.Error(err)
	}
	if n := len(r.requests()); n != 1 {
		t.Errorf("%d requests with one place", n)
	}
}

// An attempt without a place waits in its own time, and is not sent.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	r, asked := silent(t)
	c := r.reaching()
	c.Concurrency = 1
	p := newPoster(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error)
	go func() {
		_, err := doIn(ctx, p, stepOf(t, httppost.Input{URL: r.URL, Body: 1}, 1))
		first <- err
	}()
	<-asked
	_, err := do(t, p, httppost.Input{URL: r.URL, Body: 1, Timeout: httppost.Duration(50 * time.Millisecond)})
	wantFailure(t, err, httppost.CodeTimeout, false)
	if n := len(r.requests()); n != 1 {
		t.Errorf("%d requests with one place", n)
	}
	cancel()
	wantFailure(t, <-first, httppost.CodeCancelled, false)
	ctx, cancel = context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	_, err = doIn(ctx, p, stepOf(t, httppost.Input{URL: r.URL, Body: 1}, 1))
	wantFailure(t, err, httppost.CodeCancelled, false)
	if n := len(r.requests()); n != 2 {
		t.Errorf("%d requests after the place was free", n)
	}
}
