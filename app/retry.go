package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/tokens"
)

const (
	settingURL   = "FLOWGATE_URL"
	settingToken = "FLOWGATE_TOKEN"
	askWithin    = 10 * time.Second
	maxAnswer    = 64 << 10 // bytes of an answer that are read
)

// clientSettings say which gateway to ask, and as whom.
type clientSettings struct {
	URL   string `name:"url" setting:"FLOWGATE_URL" default:"http://127.0.0.1:8080" help:"Base of the gateway to ask."`
	Token string `setting:"FLOWGATE_TOKEN" placeholder:"CREDENTIAL" help:"Bearer credential for its API."`
}

// retryCommand makes a blocked run due.
type retryCommand struct {
	clientSettings
	RunID string `arg:"" name:"run" help:"ID of the run."`
}

// Run implements the command. On a run that is not blocked it changes nothing.
func (c retryCommand) Run(ctx context.Context, in invocation) error {
	if err := spec.RunID(c.RunID).Validate(); err != nil {
		return &UsageError{text: err.Error()}
	}
	if err := c.post(ctx, "/v1/runs/"+url.PathEscape(c.RunID)+"/retry"); err != nil {
		return err
	}
	_, err := fmt.Fprintf(in.stdout, "run %s is tried again now, if it was blocked\n", c.RunID)
	return err
}

// post asks the gateway to do something that needs no body. Errors: *SettingError, *RefusedError.
func (c clientSettings) post(ctx context.Context, path string) error {
	base, err := url.Parse(c.URL)
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" {
		return setting(settingURL, "must be the http or https URL of a gateway, such as http://127.0.0.1:8080")
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(base.String(), "/")+path, http.NoBody)
	if err != nil {
		return setting(settingURL, "cannot be asked")
	}
	if !tokens.NewSecret(c.Token).IsZero() {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	res, err := client.Do(req)
	if err != nil {
		return &RefusedError{Verdict: engine.VerdictBusy, Text: fmt.Sprintf("the gateway of %s does not answer: %v", settingURL, cause(err))}
	}
	defer res.Body.Close()
	return refusalIn(res)
}

// client follows no redirect: the credential is for the gateway that was named.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// cause leaves out the request, which holds what the caller knows.
func cause(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// refusalIn reads the problem document (RFC 9457) of a refusal. It is nil for a success.
func refusalIn(res *http.Response) error {
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return nil
	}
	var problem struct {
		Code    string         `json:"code"`
		Detail  string         `json:"detail"`
		Verdict engine.Verdict `json:"verdict"`
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(body, &problem)
	}
	if err != nil || problem.Code == "" {
		return fmt.Errorf("%s answers with status %d, which is no answer of a gateway", settingURL, res.StatusCode)
	}
	text := fmt.Sprintf("%s: %s (status %d)", problem.Code, problem.Detail, res.StatusCode)
	if res.StatusCode == http.StatusUnauthorized {
		text += "; " + settingToken + " gives the credential"
	}
	return &RefusedError{Verdict: problem.Verdict, Text: text}
}
