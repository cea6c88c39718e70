package mapping

import (
	"slices"
	"strconv"
	"strings"
)

// pointer is a JSON Pointer (RFC 6901) taken apart.
type pointer []string

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

// parsePointer reads a pointer below the root. The second result is the rule that is broken, if one is.
func parsePointer(text string) (pointer, string) {
	if text == "" || text[0] != '/' {
		return nil, "must be a JSON Pointer that begins with /"
	}
	var p pointer
	for part := range strings.SplitSeq(text[1:], "/") {
		if rest := strings.ReplaceAll(strings.ReplaceAll(part, "~0", ""), "~1", ""); strings.Contains(rest, "~") {
			return nil, "has a ~ that is neither ~0 nor ~1"
		}
		p = append(p, unescaper.Replace(part))
	}
	return p, ""
}

// String is the pointer as it is written.
func (p pointer) String() string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// find is the value at the place; false when there is none.
func (p pointer) find(value any) (any, bool) {
	for _, part := range p {
		switch at := value.(type) {
		case map[string]any:
			member, ok := at[part]
			if !ok {
				return nil, false
			}
			value = member
		case []any:
			i, ok := index(part, len(at))
			if !ok {
				return nil, false
			}
			value = at[i]
		default:
			return nil, false
		}
	}
	return value, true
}

// remove takes the value at the place out of an object; an element of an array becomes null, so that the others keep
// their places. It reports whether there was one.
func (p pointer) remove(value any) bool {
	last := p[len(p)-1]
	above, ok := p[:len(p)-1].find(value)
	if !ok {
		return false
	}
	switch at := above.(type) {
	case map[string]any:
		if _, ok := at[last]; !ok {
			return false
		}
		delete(at, last)
		return true
	case []any:
		if i, ok := index(last, len(at)); ok {
			at[i] = nil
			return true
		}
	}
	return false
}

// index reads the position of an element: digits without a leading zero.
func index(text string, length int) (int, bool) {
	i, err := strconv.Atoi(text)
	if err != nil || i < 0 || i >= length || strconv.Itoa(i) != text {
		return 0, false
	}
	return i, true
}

// holds says that the other place is in this one, or is it.
func (p pointer) holds(q pointer) bool { return len(p) <= len(q) && p.meets(q) }

// meets says that one of the places holds the other, or is it.
func (p pointer) meets(q pointer) bool {
	n := min(len(p), len(q))
	return slices.Equal(p[:n], q[:n])
}
