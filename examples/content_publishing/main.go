// Command content_publishing takes three articles through a review: one is published when its embargo ends, one is
// rejected, and one is withdrawn by its author. The editors get a link, posted to their desk, and answer it over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
	"github.com/flowgate-go/flowgate/tokens"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// note is what the desk is sent.
type note struct{ Text, Answer string }

// newDesk is where the editors read what is to be reviewed.
func newDesk(notes chan<- note) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n note
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			http.Error(w, "not a note", http.StatusBadRequest)
			return
		}
		notes <- n
	}))
}

// posting lets http.post reach the desk, which is on this machine, and nothing else.
func posting(desk *httptest.Server) httppost.Config {
	address := netip.MustParseAddrPort(desk.Listener.Addr().String())
	return httppost.Config{
		NamedOnly: true, AllowHTTP: true, Ports: []uint16{address.Port()},
		InternalNetworks: []netip.Prefix{netip.PrefixFrom(address.Addr(), address.Addr().BitLen())},
		Endpoints:        map[string]httppost.Endpoint{"desk": {URL: tokens.NewSecret(desk.URL)}},
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	notes := make(chan note, 10)
	desk := newDesk(notes)
	defer desk.Close()
	flowgate, err := app.Start(ctx, app.Local{HTTPPost: posting(desk), Registrations: []app.Registration{{
		Spec: ArticleSpec, Workflow: Publish, Steps: []app.Step{
			{Name: "article.render", Do: engine.TypedStep(render)}, {Name: "article.publish", Do: engine.TypedStep(put)},
		},
	}}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flowgate.Close()) }()
	d := driver{eng: flowgate.Engine(), notes: notes, out: out}
	soon, later := time.Now().Add(300*time.Millisecond), time.Now().Add(24*time.Hour)
	for _, a := range []struct {
		run     spec.RunID
		article Article
		review  string
		then    func(context.Context, spec.RunID) error
	}{
		{"spring", Article{"Spring is here", soon}, `{"approved":true,"editor":"ada"}`, d.nothing},
		{"autumn", Article{"Autumn is here", soon}, `{"approved":false,"editor":"ada","note":"It is spring."}`, d.nothing},
		{"summer", Article{"Summer will come", later}, `{"approved":true,"editor":"ada"}`, d.withdraw},
	} {
		if err := d.publish(ctx, a.run, a.article, a.review, a.then); err != nil {
			return err
		}
	}
	return nil
}

type driver struct {
	eng   *engine.Engine
	notes <-chan note
	out   io.Writer
}

// publish takes one article through its review.
func (d driver) publish(
	ctx context.Context, run spec.RunID, article Article, review string, then func(context.Context, spec.RunID) error,
) error {
	input, err := json.Marshal(article)
	if err != nil {
		return err
	}
	if _, err := d.eng.Start(ctx, engine.StartRequest{Workflow: ArticleSpec.Name, RunID: run, Input: input}); err != nil {
		return err
	}
	var n note
	select {
	case n = <-d.notes:
	case <-ctx.Done():
		return ctx.Err()
	}
	status, err := answer(ctx, n.Answer, review)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(d.out, "%s: %s\n  the editors answer: %d\n", run, n.Text, status); err != nil {
		return err
	}
	if err := then(ctx, run); err != nil {
		return err
	}
	end, err := d.eng.Wait(ctx, run)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(d.out, "  %s %s%s\n", end.Status, end.Output, end.Error)
	return err
}

// answer sends a review to the link, which is all that an editor has to know.
func answer(ctx context.Context, link, review string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, link, strings.NewReader(review))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

func (d driver) nothing(context.Context, spec.RunID) error { return nil }

func (d driver) withdraw(ctx context.Context, run spec.RunID) error {
	_, err := d.eng.SendSignal(ctx, engine.SignalRequest{RunID: run, SignalID: "w", Name: "withdrawn", Payload: []byte(`null`)})
	return err
}
