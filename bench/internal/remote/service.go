package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/bench/internal/load"
)

// answerWithin bounds one request, a long poll apart.
const answerWithin = 10 * time.Second

// pollEvery is how often a run is asked whether it waits already.
const pollEvery = 5 * time.Millisecond

// service is the API of a service, through one connection per client.
type service struct {
	*Load
	prefix string // of run IDs, new in each program
	free   chan *load.Conn
}

func (l *Load) connect(ctx context.Context) (*service, error) {
	s := &service{Load: l, prefix: fmt.Sprintf("bench-%d", time.Now().UnixNano()), free: make(chan *load.Conn, l.Clients)}
	headers := ""
	if token := os.Getenv("FLOWGATE_TOKEN"); token != "" {
		if strings.ContainsAny(token, "\r\n") {
			return nil, errors.New("FLOWGATE_TOKEN: must be one line")
		}
		headers = "Authorization: Bearer " + token + "\r\n"
	}
	for range l.Clients {
		c, err := load.Dial(ctx, l.address, headers)
		if err != nil {
			s.close()
			return nil, err
		}
		s.free <- c
	}
	return s, nil
}

func (s *service) close() {
	for len(s.free) > 0 {
		_ = (<-s.free).Close()
	}
}

// ask sends a request and decodes its answer, which must have the status.
func (s *service) ask(ctx context.Context, method, path string, body []byte, want int, into any) error {
	c := <-s.free
	defer func() { s.free <- c }()
	status, answer, err := c.Do(ctx, method, path, body, answerWithin+waitFor)
	if err != nil {
		return err
	}
	if status != want {
		var problem struct {
			Code string `json:"code"`
		}
		_ = json.Unmarshal(answer, &problem) // what is no problem document has no code
		return fmt.Errorf("%s was answered %d %s, not %d", method, status, problem.Code, want)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func (s *service) start(ctx context.Context, id string) error {
	body, err := json.Marshal(struct {
		Workflow string          `json:"workflow"`
		RunID    string          `json:"run_id"`
		Input    json.RawMessage `json:"input,omitempty"`
	}{s.Workflow, id, s.input})
	if err != nil {
		return err
	}
	return s.ask(ctx, "POST", "/v1/runs", body, 201, nil)
}

// run is what is read of a run.
type run struct {
	Status  string            `json:"status"`
	Waiting []json.RawMessage `json:"waiting"`
}

// parked asks until a run waits for something.
func (s *service) parked(ctx context.Context, id string) error {
	for {
		var r run
		if err := s.ask(ctx, "GET", "/v1/runs/"+id, nil, 200, &r); err != nil {
			return err
		}
		if r.Status != "running" {
			return fmt.Errorf("run %s is %s before it got a signal", id, r.Status)
		}
		if len(r.Waiting) > 0 {
			return nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// signal sends all signals of a run, each under an ID of its own.
func (s *service) signal(ctx context.Context, id string) error {
	for n, name := range s.names() {
		var said struct {
			Verdict string `json:"verdict"`
		}
		path := fmt.Sprintf("/v1/runs/%s/signals/%s?idempotency_key=%d", id, url.PathEscape(name), n)
		if err := s.ask(ctx, "POST", path, s.payload, 202, &said); err != nil {
			return err
		}
		if said.Verdict != "accepted" && said.Verdict != "duplicate" { // a request that was sent twice
			return fmt.Errorf("a signal of run %s was %s", id, said.Verdict)
		}
	}
	return nil
}

// waitFor is how long one question for the end of a run stays open.
const waitFor = 20 * time.Second

// ended waits until a run is completed.
func (s *service) ended(ctx context.Context, id string) error {
	var r run
	err := s.ask(ctx, "GET", fmt.Sprintf("/v1/runs/%s?wait=%s", id, waitFor), nil, 200, &r)
	if err == nil && r.Status != "completed" {
		err = fmt.Errorf("run %s is %s after its signals: has the workflow got all that it waits for?", id, r.Status)
	}
	return err
}
