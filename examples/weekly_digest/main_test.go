package main

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/engine/enginetest"
)

func Example() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 a house was built
	// 2 a tree was planted
	// 3 a child was born
	// 4 it rained
	// 5 it rained again
	// cancelled, after more than one generation: true
}

const week = 7 * 24 * time.Hour

func collecting(t *testing.T) *enginetest.Run {
	t.Helper()
	news := enginetest.New(t, DigestSpec, Collect)
	news.Start(Week{Number: 1, Length: week})
	return news
}

// wantDigest checks what the run asks to be sent.
func wantDigest(t *testing.T, news *enginetest.Run, want string) {
	t.Helper()
	if _, input := news.StepInput("send"); string(input) != want {
		t.Errorf("the digest is %s, want %s", input, want)
	}
}

// Each thing is in the digest of the week in which it happened. What happens while a digest is sent is in the next one.
func TestWeeks(t *testing.T) {
	news := collecting(t)
	news.Signal("happened", "a")
	news.Advance(week - time.Second)
	news.Signal("happened", "b")
	news.Advance(time.Second)
	wantDigest(t, news, `{"week":1,"items":["a","b"]}`)
	news.Signal("happened", "c")
	news.Advance(time.Hour)
	news.CompleteStep("send", nil)
	news.Advance(week - time.Hour)
	wantDigest(t, news, `{"week":2,"items":["c"]}`)
	news.CompleteStep("send", nil)
	if s := news.Snapshot(); s.Generation != 3 || s.UnreadSignals != 0 {
		t.Errorf("generation %d with %d unread", s.Generation, s.UnreadSignals)
	}
}

// A week in which nothing happened sends nothing.
func TestQuietWeeks(t *testing.T) {
	news := collecting(t)
	news.Advance(10 * week)
	if got := news.Snapshot().Generation; got != 11 {
		t.Errorf("generation %d after ten weeks", got)
	}
	for _, typ := range news.Types() {
		if typ == "step.scheduled" {
			t.Error("an empty digest was sent")
		}
	}
}

// What could not be sent is in the next digest.
func TestUnsentItemsAreKept(t *testing.T) {
	news := collecting(t)
	news.Signal("happened", "a")
	news.Advance(week)
	news.FailStep("send", "down", "no mail today")
	news.Signal("happened", "b")
	news.Advance(week)
	wantDigest(t, news, `{"week":2,"items":["a","b"]}`)
	if got := news.Status(); got != engine.StatusRunning {
		t.Errorf("the run is %s", got)
	}
}
