package canon

import "bytes"

const (
	// knownDepth is how deep isCanonical looks; deeper payloads are rare.
	knownDepth = 16
	// knownDigits keeps isCanonical far from the limits of numbers.
	knownDigits = 32
)

// level is an open array or object.
type level struct {
	object bool
	key    []byte // the last key; nil before the first
}

// isCanonical says of a JSON text that it is its own canonical form, without
// writing that form. It says false where it is not sure, for canonicalize to
// judge: that is what decides, and finds what is wrong with a text.
func isCanonical(raw []byte, maxDepth int) bool {
	var open [knownDepth]level
	depth, pos := 0, 0
	for ok := true; ok; {
		if pos < len(raw) && (raw[pos] == '{' || raw[pos] == '[') && !closes(raw, pos+1, raw[pos]) {
			if depth == min(maxDepth, knownDepth) {
				return false
			}
			open[depth] = level{object: raw[pos] == '{'}
			depth++
			pos, ok = open[depth-1].next(raw, pos+1)
			continue
		}
		if pos, ok = scalar(raw, pos, depth < maxDepth); !ok {
			return false
		}
		for depth > 0 && closes(raw, pos, open[depth-1].bracket()) {
			depth--
			pos++
		}
		if depth == 0 {
			return pos == len(raw)
		}
		if pos == len(raw) || raw[pos] != ',' {
			return false
		}
		pos, ok = open[depth-1].next(raw, pos+1)
	}
	return false
}

// bracket is the one that opened the level.
func (l *level) bracket() byte {
	if l.object {
		return '{'
	}
	return '['
}

// closes reports whether the bracket that closes this one is next.
func closes(raw []byte, pos int, bracket byte) bool {
	return pos < len(raw) && raw[pos] == bracket+2 // as it is in ASCII, for both
}

// next goes to the next value: in an object behind its key, which must be
// greater than the last one.
func (l *level) next(raw []byte, pos int) (int, bool) {
	if !l.object {
		return pos, true
	}
	end, ok := plainText(raw, pos)
	if !ok || end == len(raw) || raw[end] != ':' {
		return 0, false
	}
	key := raw[pos+1 : end-1]
	if l.key != nil && bytes.Compare(l.key, key) >= 0 {
		return 0, false
	}
	l.key = key
	return end + 1, true
}

// scalar passes over a scalar or, where one may be opened, an empty array or
// object.
func scalar(raw []byte, pos int, deeper bool) (end int, ok bool) {
	if pos == len(raw) {
		return 0, false
	}
	switch c := raw[pos]; {
	case c == '"':
		return plainText(raw, pos)
	case c == '-' || '0' <= c && c <= '9':
		return integer(raw, pos)
	case c == '{' || c == '[':
		return pos + 2, deeper
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(raw[pos:], []byte(w)) {
			return pos + len(w), true
		}
	}
	return 0, false
}

// plainText passes over a string without escapes.
func plainText(raw []byte, pos int) (end int, ok bool) {
	if pos == len(raw) || raw[pos] != '"' {
		return 0, false
	}
	end = plainEnd(raw, pos+1)
	if end == len(raw) || raw[end] != '"' {
		return 0, false
	}
	return end + 1, true
}

// integer passes over a whole number that needs no power of ten. What is behind
// it is for the caller, which takes neither a point nor an exponent.
func integer(raw []byte, pos int) (end int, ok bool) {
	from := pos
	if raw[pos] == '-' {
		from++
	}
	end = from
	for end < len(raw) && '0' <= raw[end] && raw[end] <= '9' {
		end++
	}
	switch n := end - from; {
	case n == 0 || n > knownDigits:
		return 0, false
	case n == 1 && raw[from] == '0':
		return end, raw[pos] != '-' // -0 is 0
	}
	return end, raw[from] != '0' && raw[end-1] != '0'
}
