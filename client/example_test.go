package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/flowgate-go/flowgate/client"
)

// A signal under an ID of the sender's, of which a gateway has seen another content before.
func ExampleClient_SendSignal() {
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"status":409,"code":"signal-conflict","verdict":"conflict","detail":"A signal of this ID was accepted with other content.","differs":["payload"]}`)
	}))
	defer gateway.Close()

	c, err := client.New(gateway.URL, client.Options{Token: "fhe_…"})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = c.SendSignal(context.Background(), "order-7", "payment.captured", client.Message{
		ID: "evt-1", Payload: []byte(`{"capture_id":"c-42"}`),
	})
	var refused *client.Problem
	if errors.Is(err, client.ErrConflict) && errors.As(err, &refused) {
		fmt.Println(refused.Code, refused.Differs)
	}
	// Output: signal-conflict [payload]
}
