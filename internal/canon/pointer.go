package canon

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxPointer bounds the pointer of an error, because keys can be as long as
// the payload.
const maxPointer = 256

// Pointer returns the JSON Pointer (RFC 6901) of a place reached over tokens,
// unescaped keys and array positions. It is cut to 256 bytes, never in the
// middle of a character or an escape; no tokens are the root, "".
func Pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		if b.Len() > maxPointer {
			break
		}
		b.WriteByte('/')
		// What lies beyond the limit need not be escaped first.
		writeEscaped(&b, token[:min(len(token), maxPointer+1)])
	}
	p := b.String()
	if len(p) <= maxPointer {
		return p
	}
	end := maxPointer
	for end > 0 && !utf8.RuneStart(p[end]) {
		end--
	}
	return strings.TrimSuffix(p[:end], "~")
}

func writeEscaped(b *strings.Builder, token string) {
	for _, c := range []byte(token) {
		switch c {
		case '~':
			b.WriteString("~0")
		case '/':
			b.WriteString("~1")
		default:
			b.WriteByte(c)
		}
	}
}

// pointer returns the JSON Pointer of the place being read.
func (s *scanner) pointer() string {
	return Pointer(s.tokens(len(s.frames)))
}

// pointerTo returns the JSON Pointer of a member of the innermost object.
func (s *scanner) pointerTo(m member) string {
	return Pointer(append(s.tokens(len(s.frames)-1), s.keyOf(m)))
}

// tokens returns the current place in each of the first n frames.
func (s *scanner) tokens(n int) []string {
	var tokens []string
	for i, f := range s.frames[:n] {
		if !f.object {
			tokens = append(tokens, strconv.Itoa(f.index))
		} else if m, ok := s.current(i); ok {
			tokens = append(tokens, s.keyOf(m))
		}
	}
	return tokens
}

// current returns the member being read in frame i. There is none between the
// opening of an object, or a comma, and the end of the next key.
func (s *scanner) current(i int) (member, bool) {
	end := len(s.members)
	for _, f := range s.frames[i+1:] {
		if f.object {
			end = f.member
			break
		}
	}
	if end-s.frames[i].member != s.frames[i].index+1 {
		return member{}, false
	}
	return s.members[end-1], true
}

func (s *scanner) keyOf(m member) string { return string(s.keys[m.keyStart:m.keyEnd]) }
