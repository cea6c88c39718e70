package httppost_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/flowgate-go/flowgate/engine"
	"github.com/flowgate-go/flowgate/spec"
	"github.com/flowgate-go/flowgate/steps/httppost"
	"github.com/flowgate-go/flowgate/tokens"
)

// toSlack asks a channel. The URL of the channel's webhook is a secret, so it is a configured endpoint.
func toSlack(subject string) httppost.Input {
	return httppost.Input{
		To:    "slack-approvals",
		Body:  map[string]any{"text": "Please approve: " + subject + "\n{hook:approval}"},
		Links: []spec.HookID{"approval"},
	}
}

// byMail asks one person through a mail gateway, which wants a key and answers 202 with an ID.
func byMail(address, subject string) httppost.Input {
	return httppost.Input{
		URL:  "https://api.mail.example.com/v1/messages",
		Auth: "mail",
		Body: map[string]any{
			"to": address, "subject": "Please approve: " + subject, "text": "Decide here: {hook:approval}",
		},
		Links:          []spec.HookID{"approval"},
		Statuses:       []int{http.StatusAccepted},
		CaptureHeaders: []string{"X-Message-Id"},
	}
}

// toCustomer tells a customer's own endpoint, which verifies the signature and answers the hook by its link.
func toCustomer(endpoint, order string) httppost.Input {
	return httppost.Input{
		URL:      endpoint,
		SignWith: "customers",
		Body: map[string]any{
			"type": "approval.requested",
			"data": map[string]any{"order": order, "answer_url": "{hook:approval}"},
		},
		Links:   []spec.HookID{"approval"},
		Timeout: httppost.Duration(10 * time.Second),
	}
}

// newPost is what a deployment allows.
func newPost(slackWebhook, mailKey, signingKey tokens.Secret) (*httppost.Poster, error) {
	return httppost.New(httppost.Config{
		Hosts: []string{"api.mail.example.com", "*.customers.example.com"},
		Endpoints: map[string]httppost.Endpoint{
			"slack-approvals": {URL: slackWebhook},
		},
		Credentials: map[string]httppost.Credential{
			"mail": {Scope: httppost.Scope{Hosts: []string{"api.mail.example.com"}}, Header: "X-Api-Key", Value: mailKey},
		},
		Signing: map[string]httppost.Signing{
			"customers": {Scope: httppost.Scope{Hosts: []string{"*.customers.example.com"}}, Secrets: []tokens.Secret{signingKey}},
		},
	})
}

// receive is a customer's endpoint.
func receive(signingKey string) http.HandlerFunc {
	webhook, err := standardwebhooks.NewWebhook(signingKey)
	return func(w http.ResponseWriter, r *http.Request) {
		body, bodyErr := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil || bodyErr != nil || webhook.Verify(body, r.Header) != nil {
			http.Error(w, "not signed", http.StatusUnauthorized)
			return
		}
		// r.Header.Get("webhook-id") is the same for every attempt: what was seen before is done already.
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"ticket":"T-7"}`)
	}
}

// Example sends one message to a server on this machine, which the Config has to allow. The engine makes the Step of a
// process that registered the function; it is made by hand here.
func Example() {
	const signingKey = "whsec_bmV3LXNlY3JldC1vZi0yNC1ieXRlcy0xMjM0NTY3ODkw"
	server := httptest.NewServer(receive(signingKey))
	defer server.Close()
	port, err := portOf(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	poster, err := httppost.New(httppost.Config{
		AllowHTTP: true, Ports: []uint16{port}, InternalHosts: []string{"127.0.0.1"},
		Signing: map[string]httppost.Signing{
			"customers": {Scope: httppost.Scope{Hosts: []string{"127.0.0.1"}}, Secrets: []tokens.Secret{tokens.NewSecret(signingKey)}},
		},
		HookURL: func(*engine.Step, context.Context, string) (string, error) {
			return "https://flow.example.com/…", nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer poster.Close()

	input, err := json.Marshal(toCustomer(server.URL, "order-7"))
	if err != nil {
		log.Fatal(err)
	}
	out, err := poster.Step()(context.Background(), &engine.Step{Name: httppost.Name, Attempt: 1, IdempotencyKey: "key-7", Input: input})
	if err != nil {
		log.Fatal(err)
	}
	text, err := json.Marshal(out)
	fmt.Println(string(text), err)
	// Output: {"status":200,"body":{"ticket":"T-7"},"truncated":false,"attempt":1,"message_id":"key-7"} <nil>
}

func portOf(address string) (uint16, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	to, err := netip.ParseAddrPort(u.Host)
	return to.Port(), err
}
