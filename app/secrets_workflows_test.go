package app_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/app"
	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

// asLeaky makes this test binary the command flowgate with the workflows below.
const asLeaky = "FLOWGATE_TEST_LEAKY"

func init() {
	if os.Getenv(asLeaky) != "" {
		app.Main(app.Registration{Spec: doorsSpec, Workflow: doors}, app.Registration{Spec: authorSpec, Workflow: author},
			app.Registration{Spec: postsSpec, Workflow: posts})
	}
}

const answerSchema = `{"type":"object","required":["mark"],"properties":{"mark":{"type":"string"},"n":{"type":"number"}},
	"additionalProperties":{"type":"array"}}`

// The kinds of hooks of doors: what becomes of them.
const (
	toAnswer   = "answer"
	toDispose  = "dispose"
	toExpire   = "expire"
	toEnd      = "end"
	toInternal = "internal"
	toComplete = "complete" // no hooks: the run completes with a marked output
)

var doorsSpec = spec.WorkflowSpec{
	Name: "leak.doors", Version: "1",
	Input: json.RawMessage(`{"type":"object","required":["count","kind"],"additionalProperties":false,"properties":{
		"count":{"type":"integer"},"kind":{"type":"string","maxLength":20},"host":{"type":"boolean"}}}`),
	Signals: []spec.Signal{{Name: "end"}, {Name: "note"}, {Name: "strict", Schema: json.RawMessage(answerSchema)}},
	Hooks: []spec.Hook{
		{Name: toAnswer, Schema: json.RawMessage(answerSchema)},
		{Name: toDispose, Schema: json.RawMessage(answerSchema), DisposableByToken: true},
		{Name: toInternal, Schema: json.RawMessage(answerSchema), Audience: spec.Internal},
	},
}

// doors opens hooks and waits for their answers until it is told to end.
func doors(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[struct {
		Count int    `json:"count"`
		Kind  string `json:"kind"`
		Host  bool   `json:"host"`
	}](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if _, ended, err := engine.SignalPayload[json.RawMessage](ctx, "end"); ended || err != nil {
		return ctx.Complete(nil), err
	}
	if in.Kind == toComplete {
		return ctx.Complete(outputMark(string(ctx.RunID()))), nil
	}
	all := []engine.Decision{ctx.WaitForSignal("end", "end")}
	for i := range in.Count {
		id := engine.ID("h", i)
		options := []engine.HookOption{engine.As(in.Kind)}
		if in.Kind == toExpire {
			options = append(options, engine.ExpiresIn(time.Millisecond))
		}
		if in.Host {
			options = append(options, engine.Token(hostToken(string(ctx.RunID()), id)))
		}
		all = append(all, ctx.CreateHook(id, options...))
	}
	return ctx.Await(all...), nil
}

// hostToken is a token that a host can make again, so that no input has to hold it.
func hostToken(run, hook string) string {
	sum := sha256.Sum256([]byte("host\x00" + run + "\x00" + hook))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// outputMark is the output of a run.
func outputMark(run string) string {
	sum := sha256.Sum256([]byte("output\x00" + run))
	return hex.EncodeToString(sum[:])
}

// strayToken has the form of a minted token and is that of no hook: a workflow that got one somewhere else.
func strayToken(run string) string {
	key := []tokens.Key{{ID: "k", Secret: []byte(strings.Repeat("k", 32))}}
	ring, err := tokens.NewKeyring(key, key)
	if err != nil {
		panic("the keys of the test are bad")
	}
	return ring.Mint(tokens.Binding{RunID: run}, tokens.Nonce{}).Token.Reveal()
}

// authoredMark is what a workflow says about its run on purpose.
func authoredMark(run string) string {
	sum := sha256.Sum256([]byte("authored\x00" + run))
	return hex.EncodeToString(sum[:])
}

var authorSpec = spec.WorkflowSpec{
	Name: "leak.author", Version: "1",
	Input:   json.RawMessage(`{"type":"object","required":["mode"]}`),
	Signals: []spec.Signal{{Name: "go"}},
}

// told is what a careless author has at hand.
type told struct {
	Mark   string      `json:"mark"`
	Number json.Number `json:"n"`

	token, host, authored string
}

// author does what its mode says, with all that it was told.
func author(ctx *engine.Context) (engine.Decision, error) {
	in, err := engine.Input[struct {
		Mode string `json:"mode"`
	}](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	said, ok, err := engine.SignalPayload[told](ctx, "go")
	if !ok || err != nil {
		return ctx.WaitForSignal("go", "go"), err
	}
	run := string(ctx.RunID())
	said.token, said.host, said.authored = strayToken(run), hostToken(run, ""), authoredMark(run)
	return authors[in.Mode](ctx, said)
}

func (s told) all() string { return s.Mark + " " + s.Number.String() + " " + s.token + " " + s.host }

// authors are the ways in which workflow code may give away what it knows. Where it may say something the word is its
// own, and the token beside it must go.
var authors = map[string]func(*engine.Context, told) (engine.Decision, error){
	"panic":             func(_ *engine.Context, s told) (engine.Decision, error) { panic(s.all()) },
	"panic with error":  func(_ *engine.Context, s told) (engine.Decision, error) { panic(errors.New(s.all())) },
	"panic with struct": func(_ *engine.Context, s told) (engine.Decision, error) { panic(s) },
	"panic in an error": func(_ *engine.Context, s told) (engine.Decision, error) {
		return engine.Decision{}, panickyError(s.all())
	},
	"nil error": func(*engine.Context, told) (engine.Decision, error) {
		var none *emptyError
		return engine.Decision{}, none
	},
	"panic in JSON": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.Complete(panickyJSON(s.all())), nil
	},
	"error in JSON": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.Complete(failingJSON(s.all())), nil
	},
	"error": func(_ *engine.Context, s told) (engine.Decision, error) {
		return engine.Decision{}, fmt.Errorf("refused %s by %s", s.authored, s.token)
	},
	"cut error": func(_ *engine.Context, s told) (engine.Decision, error) {
		return engine.Decision{}, errors.New(strings.Repeat("x", 1024-20) + s.token)
	},
	"fail": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.Fail(errors.New(s.authored + "/" + s.token)), nil
	},
	"decode": func(ctx *engine.Context, _ told) (engine.Decision, error) {
		_, _, err := engine.SignalPayload[map[string]int8](ctx, "go")
		return engine.Decision{}, err
	},
	"token as ID": func(ctx *engine.Context, s told) (engine.Decision, error) { return ctx.CreateHook(s.token), nil },
	"bad token": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.CreateHook("h", engine.Token(s.token)), nil
	},
	"bad characters": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.CreateHook("h", engine.Token(s.host+"!")), nil
	},
	"metadata": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithData("token", s.token))), nil
	},
	"bad metadata": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithData("mark", failingJSON(s.all())))), nil
	},
	"label": func(ctx *engine.Context, s told) (engine.Decision, error) {
		return ctx.CreateHook("h", engine.Metadata(spec.HumanApproval("x").WithLabel(s.Mark, s.all()))), nil
	},
	"too slow": func(ctx *engine.Context, _ told) (engine.Decision, error) {
		<-time.After(1100 * time.Millisecond)
		return ctx.Complete(nil), nil
	},
}

type (
	panickyError string
	emptyError   struct{ text string }
	panickyJSON  string
	failingJSON  string
)

func (e panickyError) Error() string               { panic(string(e)) }
func (e *emptyError) Error() string                { return e.text }
func (j panickyJSON) MarshalJSON() ([]byte, error) { panic(string(j)) }
func (j failingJSON) MarshalJSON() ([]byte, error) { return nil, errors.New(string(j)) }
