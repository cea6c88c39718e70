package main

import (
	"context"
	"html"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
)

// Article is the input of a run.
type Article struct {
	Title   string    `json:"title"`
	Embargo time.Time `json:"embargo,omitzero"` // not before; zero: at once
}

// Review is what an editor answers.
type Review struct {
	Approved bool   `json:"approved"`
	Editor   string `json:"editor" jsonschema:"minLength=1"`
	Note     string `json:"note,omitempty"`
}

// Outcome is the output of a run.
type Outcome struct {
	Status string `json:"status"` // published, rejected, withdrawn or forgotten
	Page   string `json:"page,omitempty"`
	Editor string `json:"editor,omitempty"`
	Note   string `json:"note,omitempty"`
}

// ArticleSpec is the contract of Publish.
var ArticleSpec = spec.WorkflowSpec{
	Name: "article.publish", Version: "1", Input: engine.SchemaOf[Article](),
	Signals: []spec.Signal{{Name: "withdrawn", Description: "The author has thought better of it."}},
	Hooks:   []spec.Hook{{Name: "review", Schema: engine.SchemaOf[Review]()}},
}

var retry = spec.ExponentialRetry(8, 5*time.Second, 10*time.Minute)

// Publish renders an article, asks the editors, waits for the end of the embargo and publishes. Until then the author may
// withdraw it.
func Publish(ctx *engine.Context) (engine.Decision, error) {
	article, err := engine.Input[Article](ctx)
	if err != nil {
		return engine.Decision{}, err
	}
	if article.Embargo.IsZero() {
		article.Embargo = ctx.StartedAt()
	}
	page, rendered, err := engine.StepOutput[string](ctx, "render")
	if err != nil {
		return engine.Decision{}, err
	}
	if !rendered {
		return ctx.RunStep("render", "article.render", article, retry), nil
	}
	review, reviewed, err := engine.HookPayload[Review](ctx, "review")
	switch {
	case err != nil:
		return engine.Decision{}, err
	case !reviewed:
		return ask(ctx, article)
	case !review.Approved:
		return ctx.Complete(Outcome{Status: "rejected", Editor: review.Editor, Note: review.Note}), nil
	}
	return publish(ctx, article, page, review.Editor)
}

// ask opens a hook for the editors and posts its link to their desk.
func ask(ctx *engine.Context, article Article) (engine.Decision, error) {
	if failure, failed := ctx.StepFailed("ask"); failed {
		return ctx.Fail(failure), nil // nobody knows that there is something to review
	}
	if ctx.HookExpired("review") {
		return ctx.Complete(Outcome{Status: "forgotten"}), nil
	}
	return ctx.Await(
		ctx.CreateHook("review", engine.ExpiresIn(72*time.Hour), engine.Metadata(spec.HumanApproval(article.Title))),
		ctx.RunStep("ask", httppost.Name, httppost.Input{
			To:    "desk",
			Body:  map[string]string{"text": "Please review: " + article.Title, "answer": "{hook:review}"},
			Links: []spec.HookID{"review"},
		}, retry),
	), nil
}

// publish waits for the end of the embargo. The author's word counts until the timer has fired.
func publish(ctx *engine.Context, article Article, page, editor string) (engine.Decision, error) {
	switch ctx.First("embargo", "withdrawal") {
	case "":
		return ctx.Await(ctx.TimerUntil("embargo", article.Embargo), ctx.WaitForSignal("withdrawal", "withdrawn")), nil
	case "withdrawal":
		return ctx.Complete(Outcome{Status: "withdrawn"}), nil
	}
	address, published, err := engine.StepOutput[string](ctx, "publish")
	if err != nil || published {
		return ctx.Complete(Outcome{Status: "published", Page: address, Editor: editor}), err
	}
	return ctx.RunStep("publish", "article.publish", page, retry), nil
}

// render and put stand for a site's own code.
func render(_ context.Context, _ *engine.Step, article Article) (string, error) {
	return "<h1>" + html.EscapeString(article.Title) + "</h1>", nil
}

func put(_ context.Context, step *engine.Step, _ string) (string, error) {
	return "/articles/" + string(step.RunID), nil
}
