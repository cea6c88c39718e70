package canon

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// text reads a string and writes it with as few escapes as JSON allows. The
// text of a key is also kept unescaped.
func (s *scanner) text(key bool) error {
	s.pos++
	s.out = append(s.out, '"')
	for {
		from := s.pos
		s.pos = plainEnd(s.src, from)
		s.emit(s.src[from:s.pos], key)
		if s.pos == len(s.src) {
			return s.refuse(ruleSyntax)
		}
		switch c := s.src[s.pos]; {
		case c == '"':
			s.pos++
			s.out = append(s.out, '"')
			return nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return err
			}
			s.emitRune(r, key)
		case c == 0:
			return s.refuse(ruleNUL)
		case c < 0x20:
			return s.refuse(ruleControl)
		default:
			return s.refuse(ruleUTF8)
		}
	}
}

// plainEnd returns the end of the characters from pos on that stand for
// themselves: the position of a quote, a backslash, a control character, a byte
// that is not UTF-8, or the end.
func plainEnd(src []byte, pos int) int {
	for pos < len(src) {
		c := src[pos]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == '"' || c == '\\' {
				return pos
			}
			pos++
			continue
		}
		r, size := utf8.DecodeRune(src[pos:])
		if r == utf8.RuneError && size == 1 {
			return pos
		}
		pos += size
	}
	return pos
}

// escape reads one escape sequence, or two that make a surrogate pair.
func (s *scanner) escape() (rune, error) {
	rest := s.src[s.pos:]
	if len(rest) < 2 {
		return 0, s.refuse(ruleSyntax)
	}
	if rest[1] != 'u' {
		i := bytes.IndexByte([]byte(`"\/bfnrt`), rest[1])
		if i < 0 {
			return 0, s.refuse(ruleSyntax)
		}
		s.pos += 2
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	r, ok := unicodeEscape(rest)
	switch {
	case !ok:
		return 0, s.refuse(ruleSyntax)
	case r == 0:
		return 0, s.refuse(ruleNUL)
	case utf16.IsSurrogate(r):
		low, _ := unicodeEscape(rest[6:])
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			return 0, s.refuse(ruleSurrogate)
		}
		s.pos += 6
	}
	s.pos += 6
	return r, nil
}

// unicodeEscape reads \uXXXX at the start of b. Without one it returns 0 and
// false.
func unicodeEscape(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// emit writes text that needs no escape.
func (s *scanner) emit(plain []byte, key bool) {
	s.out = append(s.out, plain...)
	if key {
		s.keys = append(s.keys, plain...)
	}
}

// emitRune writes a character that came escaped, escaped only if it must be,
// in the spelling of RFC 8785.
func (s *scanner) emitRune(r rune, key bool) {
	if key {
		s.keys = utf8.AppendRune(s.keys, r)
	}
	switch {
	case r == '"' || r == '\\':
		s.out = append(s.out, '\\', byte(r))
	case r >= 0x20:
		s.out = utf8.AppendRune(s.out, r)
	case bytes.IndexByte([]byte("\b\f\n\r\t"), byte(r)) >= 0:
		s.out = append(s.out, '\\', "bfnrt"[bytes.IndexByte([]byte("\b\f\n\r\t"), byte(r))])
	default:
		const hex = "0123456789abcdef"
		s.out = append(s.out, '\\', 'u', '0', '0', hex[r>>4], hex[r&0xf])
	}
}
