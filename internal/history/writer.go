package history

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowgate-go/flowgate/spec"
)

// writer writes JSON objects byte by byte as encoding/json does. It gives up where encoding/json would escape something or
// fail.
type writer struct {
	out   []byte
	first bool // the next member is the first of its object
	bad   bool // it gave up
}

func (w *writer) open() {
	w.out = append(w.out, '{')
	w.first = true
}

func (w *writer) close() {
	w.out = append(w.out, '}')
	w.first = false
}

// key begins a member.
func (w *writer) key(key string) {
	if !w.first {
		w.out = append(w.out, ',')
	}
	w.first = false
	w.out = append(append(append(w.out, '"'), key...), '"', ':')
}

// quoted writes a string that needs no escape.
func (w *writer) quoted(text string) {
	w.bad = w.bad || !isPlain(text)
	w.out = append(append(append(w.out, '"'), text...), '"')
}

// isPlain says that encoding/json writes a text as it is.
func isPlain(text string) bool {
	ascii := true
	for i := range len(text) {
		switch c := text[i]; {
		case c < ' ', c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return ascii || utf8.ValidString(text) && !strings.ContainsAny(text, "\u2028\u2029")
}

func (w *writer) text(key, text string) {
	w.key(key)
	w.quoted(text)
}

// textIf leaves out what is empty.
func (w *writer) textIf(key, text string) {
	if text != "" {
		w.text(key, text)
	}
}

func (w *writer) number(key string, n int64) {
	w.key(key)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *writer) digest(key string, digest [32]byte) {
	w.key(key)
	w.out = append(hex.AppendEncode(append(w.out, '"'), digest[:]), '"')
}

func (w *writer) bytesIf(key string, b []byte) {
	if len(b) > 0 {
		w.key(key)
		w.out = append(base64.StdEncoding.AppendEncode(append(w.out, '"'), b), '"')
	}
}

func (w *writer) timeIf(key string, at *time.Time) {
	if at == nil {
		return
	}
	w.key(key)
	out, err := at.AppendText(append(w.out, '"'))
	w.out, w.bad = append(out, '"'), w.bad || err != nil
}

func (w *writer) trueIf(key string, set bool) {
	if set {
		w.key(key)
		w.out = append(w.out, "true"...)
	}
}

func (w *writer) labelsIf(labels spec.Labels) {
	if len(labels) == 0 {
		return
	}
	w.key("labels")
	w.open()
	keys := slices.AppendSeq(make([]string, 0, len(labels)), maps.Keys(labels))
	slices.Sort(keys)
	for _, key := range keys {
		w.bad = w.bad || !isPlain(key)
		w.text(key, labels[key])
	}
	w.close()
}

// envelope writes what stands before the data, behind the opening brace.
func (w *writer) envelope(taken []int64, read []spec.HookID) {
	if len(taken) > 0 {
		w.key("taken")
		for i, seq := range taken {
			w.out = strconv.AppendInt(append(w.out, listMark(i)), seq, 10)
		}
		w.out = append(w.out, ']')
	}
	if len(read) > 0 {
		w.key("read")
		for i, id := range read {
			w.out = append(w.out, listMark(i))
			w.quoted(string(id))
		}
		w.out = append(w.out, ']')
	}
}

// listMark stands before an element of a list.
func listMark(i int) byte {
	if i == 0 {
		return '['
	}
	return ','
}
