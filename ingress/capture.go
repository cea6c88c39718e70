package ingress

import (
	"bufio"
	"bytes"
	"errors"
	"net/textproto"
	"strconv"
	"strings"
)

// Errors of ParseCapture.
var (
	errNoBlankLine = errors.New("the file has no empty line between headers and body: it must be a request as it was sent, " +
		"request line first")
	errNotARequest = errors.New("the file does not begin with a request line and headers")
	errChunked     = errors.New("the body is chunked: capture it with its chunks put together and without Transfer-Encoding")
	errBodyShort   = errors.New("the body is shorter than its Content-Length says")
	errBodyLong    = errors.New("the body is longer than its Content-Length says")
)

// ParseCapture reads a request that was captured: request line, headers, an empty line, and the body byte by byte. Lines may
// end with or without a carriage return. One line end behind a body that has a Content-Length is the editor's, and left out.
func ParseCapture(text []byte) (*Request, error) {
	head, body, found := bytes.Cut(text, []byte("\r\n\r\n"))
	if lf, rest, ok := bytes.Cut(text, []byte("\n\n")); ok && (!found || len(lf) < len(head)) {
		head, body, found = lf, rest, true
	}
	if !found {
		return nil, errNoBlankLine
	}
	line, fields, _ := bytes.Cut(append(bytes.Clone(head), "\n\n"...), []byte("\n"))
	if parts := strings.Fields(string(line)); len(parts) != 3 || !strings.HasPrefix(parts[2], "HTTP/") {
		return nil, errNotARequest
	}
	parsed, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if err != nil {
		return nil, errNotARequest // its own text repeats the header
	}
	r := &Request{Header: make(map[string][]string, len(parsed)), Body: body}
	for name, values := range parsed {
		r.Header[strings.ToLower(name)] = values
	}
	return r, r.cut()
}

// cut makes the body as long as it says.
func (r *Request) cut() error {
	if len(r.Header["transfer-encoding"]) > 0 {
		return errChunked
	}
	declared := r.Header["content-length"]
	if len(declared) == 0 {
		return nil
	}
	n, err := strconv.Atoi(declared[0])
	switch {
	case err != nil || n < 0 || len(declared) > 1:
		return errNotARequest
	case n > len(r.Body):
		return errBodyShort
	case strings.Trim(string(r.Body[n:]), "\r\n") != "" || len(r.Body)-n > len("\r\n"):
		return errBodyLong
	}
	r.Body = r.Body[:n]
	return nil
}
