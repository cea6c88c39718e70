package gateway

import (
	"github.com/flowgate-go/flowgate/gateway/internal/openapi"
)

// pageBody is the form of a page, which nobody fills in but a browser.
type pageBody struct {
	Nonce    string `json:"nonce"`
	Decision string `json:"decision"`
	Comment  string `json:"comment,omitempty"`
	Confirm  string `json:"confirm,omitempty"`
}

// recipientBody is the body that asks for the link of a page.
type recipientBody struct {
	Recipient string `json:"recipient"`
}

// drawn is an answer that is a page.
func drawn(status int, about string) openapi.Answer {
	return openapi.Answer{Status: status, About: about, Media: "text/html", Of: []any{openapi.Text{}}}
}

// pageOperations describe approval pages.
var pageOperations = map[string]operation{
	"GET " + pagePattern: {
		id: "showPage", summary: "The approval page of one person. It never acts.", html: true,
		answers: []openapi.Answer{drawn(200, "The page, in any state of the hook."), {Status: 204, About: "To a browser that looks ahead."}},
	},
	"POST " + pagePattern: {
		id: "decide", summary: "The decision of a person, by the form of the page.", html: true, body: pageBody{}, form: true,
		answers: []openapi.Answer{drawn(200, "It is asked for once more."), {Status: 303, About: "It is durable, or was before: the page shows it."}},
		refuses: []*problem{hookPayloadConflict, hookAlreadyResumed, pageChangedSince, hookClosed, payloadSchema, forbidden},
	},
	"GET " + stylePattern: {
		id: "showStyle", summary: "The style sheet of the pages.", html: true,
		answers: []openapi.Answer{{Status: 200, About: "The sheet.", Media: "text/css", Of: []any{openapi.Text{}}}},
	},
	"POST /v1/runs/{run}/hooks/{hook}/pages": {
		id: "mintPage", summary: "The link of an open hook's page for one person, the same one on every call.", body: recipientBody{},
		answers: []openapi.Answer{ok(200, "The link.", mintedPage{})}, refuses: []*problem{hookAlreadyResumed, hookClosed},
	},
}
