package ingress

import (
	"encoding/json"
	"errors"
	"mime"
	"net/url"
	"strings"

	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

// Request is what a sender sent. The signature is over Body as it is here.
type Request struct {
	// Header has the values of each header in the order they came, under lower-case names.
	Header map[string][]string
	Body   []byte
	// Admit is asked once the request is verified, or at once for an unverified source, before anything is read of the body or
	// looked up. Its error is that of Receive. Nil admits everything.
	Admit func(ns spec.Namespace, verified bool) error
}

// ErrMediaType says that a body is neither JSON nor, where the source takes forms, a form, or that it is encoded.
var ErrMediaType = errors.New("the body is not of a media type that the source takes")

// one is the value of a header that must be there once, and not be empty.
func (r *Request) one(name string) (string, Reason) {
	switch values := r.Header[name]; {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", ReasonAbsent
	case len(values) > 1:
		return "", ReasonRepeated
	default:
		return values[0], ""
	}
}

// isForm says whether the body is a form. Errors: ErrMediaType. It looks at headers only, so that it can be asked before
// anything is verified.
func (r *Request) isForm(allowed bool) (bool, error) {
	if len(r.Header["content-encoding"]) > 0 || len(r.Header["content-type"]) > 1 {
		return false, ErrMediaType
	}
	if len(r.Header["content-type"]) == 0 {
		return false, nil
	}
	kind, params, err := mime.ParseMediaType(r.Header["content-type"][0])
	if err != nil {
		return false, ErrMediaType
	}
	if charset, given := params["charset"]; given && !strings.EqualFold(charset, "utf-8") {
		return false, ErrMediaType
	}
	if kind == "application/x-www-form-urlencoded" && allowed {
		return true, nil
	}
	subtype, found := strings.CutPrefix(kind, "application/")
	if found && (subtype == "json" || len(subtype) > len("+json") && strings.HasSuffix(subtype, "+json")) {
		return false, nil
	}
	return false, ErrMediaType
}

// json is the JSON of a verified body: the body, or the one field "payload" of a form. Nobody signs the Content-Type, so a
// body that is JSON is never read as a form: a text in it might hold "&payload=". Errors: *canon.PayloadError.
func (r *Request) json(form bool) ([]byte, error) {
	if !form {
		return r.Body, nil
	}
	if json.Valid(r.Body) {
		return nil, &canon.PayloadError{Rule: "the body is JSON, and no form as its Content-Type says"}
	}
	fields, err := url.ParseQuery(string(r.Body))
	if err != nil || len(fields["payload"]) != 1 {
		return nil, &canon.PayloadError{Rule: "the form does not have the field payload once"}
	}
	return []byte(fields["payload"][0]), nil
}
