package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
)

// Request is the input of a run, and of its step.
type Request struct {
	URL  string `json:"url"`
	Hold bool   `json:"hold,omitempty"` // what cannot be had waits for a person instead of failing
}

// FetchSpec is the contract of Fetch.
var FetchSpec = spec.WorkflowSpec{Name: "rates.fetch", Version: "1"}

// Fetch gets a page, with as many attempts as its policy allows, and ends with what it says.
func Fetch(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[Request](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	page, done, err := engine.StepOutput[string](ctx, "fetch")
	if err != nil || done {
		return ctx.Complete(page), err
	}
	// 20 ms, 40 ms, 80 ms between attempts. Real ones would be seconds, and have Jitter: ExponentialRetry has.
	retry := spec.RetryPolicy{Attempts: 4, Delay: 20 * time.Millisecond, Factor: 2, MaxDelay: time.Minute, Hold: in.Hold}
	return ctx.RunStep("fetch", "http.get", in, retry,
		engine.StartToClose(10*time.Second), engine.ScheduleToClose(24*time.Hour)), nil
}

// fetch does the step: one attempt. What it returns says whether another one makes sense.
func fetch(ctx context.Context, step *engine.Step, in Request) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, in.URL, nil)
	if err != nil {
		return "", engine.NonRetryable(err)
	}
	req.Header.Set("Idempotency-Key", step.IdempotencyKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", engine.Coded("network", err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusOK:
		page, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
		return string(page), err
	case res.StatusCode == http.StatusTooManyRequests:
		seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return "", engine.RetryAfter(engine.Coded("throttled", refused(res)), time.Duration(seconds)*time.Second)
	case res.StatusCode >= http.StatusInternalServerError:
		return "", engine.Coded("unavailable", refused(res))
	}
	return "", engine.NonRetryable(engine.Coded("rejected", refused(res)))
}

func refused(res *http.Response) error { return fmt.Errorf("the server says %s", res.Status) }
