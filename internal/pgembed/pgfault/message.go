package pgfault

import (
	"bytes"
	"encoding/binary"
)

// message is one message of a client: a type, its length and a body. What is sent before a session begins has no type.
type message []byte

// The types that matter here.
const (
	typeQuery   = 'Q'
	typeParse   = 'P'
	typeBind    = 'B'
	typeExecute = 'E'
	typeSync    = 'S'
)

func (m message) kind() byte { return m[0] }

// texts returns the first n strings of the body, which end with a zero byte each.
func (m message) texts(n int) []string {
	out := make([]string, n)
	rest := []byte(m[5:])
	for i := range out {
		text, after, _ := bytes.Cut(rest, []byte{0})
		out[i], rest = string(text), after
	}
	return out
}

// messages takes apart what a driver writes at once, which is whole messages. ok is false for what is sent before a
// session begins.
func messages(b []byte) (all []message, ok bool) {
	for len(b) > 0 {
		if len(b) < 5 || b[0] == 0 {
			return nil, false
		}
		end := 1 + int(binary.BigEndian.Uint32(b[1:]))
		if end > len(b) || end < 5 {
			return nil, false
		}
		all, b = append(all, b[:end]), b[end:]
	}
	return all, true
}

// cancelCode is what a request to cancel has in the place of a version.
const cancelCode = 80877102

// cancels says that a connection was opened to cancel what another one does. A driver does so when it gives one up; such
// a request is lost like the connection, so that what the server does depends on the plan alone.
func cancels(b []byte) bool {
	return len(b) >= 8 && b[0] == 0 && binary.BigEndian.Uint32(b[4:]) == cancelCode
}

// build makes a message of a type and a body.
func build(kind byte, body string) message {
	m := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4))
	return append(m, body...)
}

// refusal stands for a statement and fails with a SQLSTATE.
func refusal(m message, state string) message {
	if m.kind() == typeQuery {
		return build(typeQuery, "execute "+preparedName(state)+"\x00")
	}
	// The unnamed portal of the prepared statement; no formats, no parameters, no result formats.
	return build(typeBind, "\x00"+preparedName(state)+"\x00"+"\x00\x00"+"\x00\x00"+"\x00\x00")
}
