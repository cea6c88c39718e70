package canon

import "bytes"

// scanner reads one JSON text from left to right and writes its canonical form
// behind it. It keeps its own stack, so nesting costs no call depth, and it
// keeps the members of open objects only, so memory follows the input's size.
type scanner struct {
	src      []byte
	pos      int
	maxDepth int

	out     []byte   // canonical form of what was read
	frames  []frame  // the arrays and objects now open
	members []member // the members of the objects now open
	keys    []byte   // the unescaped keys of those members
	scratch []byte   // copy of an object while its members are put in order
}

// frame is an open array or object.
type frame struct {
	object bool
	index  int // position of the current element or member
	start  int // offset in out after the opening bracket
	member int // first of its members
	key    int // offset in keys where its keys begin
}

// member is one member of an open object: its unescaped key in keys, and its
// canonical text, from the key's quote to the value's end, in out.
type member struct {
	keyStart, keyEnd int
	start, end       int
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// canonicalize returns the canonical form of a JSON text, or a *PayloadError.
func canonicalize(raw []byte, maxDepth int) ([]byte, error) {
	s := scanner{
		src: raw, maxDepth: maxDepth, out: make([]byte, 0, len(raw)+16),
		frames: make([]frame, 0, 4), members: make([]member, 0, 8), keys: make([]byte, 0, 64),
	}
	s.space()
	if s.pos == len(raw) {
		return nil, s.refuse(ruleEmpty)
	}
	if bytes.HasPrefix(raw, byteOrderMark) {
		return nil, s.refuse(ruleBOM)
	}
	for {
		if err := s.value(); err != nil {
			return nil, err
		}
		more, err := s.next()
		if err != nil {
			return nil, err
		}
		if !more {
			return s.out, nil
		}
	}
}

// value reads up to the end of a scalar or of an empty array or object,
// opening what it finds on the way.
func (s *scanner) value() error {
	for {
		s.space()
		c := s.peek()
		switch {
		case c == '{' || c == '[':
			if closed, err := s.open(c); err != nil || closed {
				return err
			}
		case c == '"':
			return s.text(false)
		case c == '-' || '0' <= c && c <= '9':
			return s.number()
		default:
			return s.word()
		}
	}
}

// next goes on after a value: it closes what ends here and stops before the
// next value. It reports false when the whole text is read.
func (s *scanner) next() (bool, error) {
	for len(s.frames) > 0 {
		s.space()
		top := &s.frames[len(s.frames)-1]
		switch c := s.peek(); {
		case c == ',':
			s.pos++
			s.endMember(top)
			s.out = append(s.out, ',')
			top.index++
			if top.object {
				return true, s.key()
			}
			return true, nil
		case c == '}' && top.object, c == ']' && !top.object:
			if err := s.close(); err != nil {
				return false, err
			}
		default:
			return false, s.refuse(ruleSyntax)
		}
	}
	s.space()
	if s.pos < len(s.src) {
		return false, s.refuse(ruleTrailing)
	}
	return false, nil
}

// open enters an array or object and, in an object, reads the first key. It
// reports true when the container was empty and is closed already.
func (s *scanner) open(bracket byte) (bool, error) {
	if len(s.frames) >= s.maxDepth {
		return false, s.refuse(ruleDepth(s.maxDepth))
	}
	s.pos++
	s.out = append(s.out, bracket)
	s.frames = append(s.frames, frame{
		object: bracket == '{', start: len(s.out), member: len(s.members), key: len(s.keys),
	})
	s.space()
	if c := s.peek(); c == ']' && bracket == '[' || c == '}' && bracket == '{' {
		return true, s.close()
	}
	if bracket == '{' {
		return false, s.key()
	}
	return false, nil
}

// close leaves the innermost container, whose closing bracket is next.
func (s *scanner) close() error {
	top := &s.frames[len(s.frames)-1]
	if top.object {
		s.endMember(top)
		if err := s.sortMembers(top); err != nil {
			return err
		}
		s.members = s.members[:top.member]
		s.keys = s.keys[:top.key]
	}
	s.out = append(s.out, s.src[s.pos])
	s.pos++
	s.frames = s.frames[:len(s.frames)-1]
	return nil
}

// word reads true, false or null.
func (s *scanner) word() error {
	for _, w := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(s.src[s.pos:], []byte(w)) {
			s.pos += len(w)
			s.out = append(s.out, w...)
			return nil
		}
	}
	return s.refuse(ruleSyntax)
}

// space skips the four characters RFC 8259 calls white space.
func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek returns the next byte, or 0 at the end, which begins no JSON token.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// refuse is the error for a rule broken at the current place.
func (s *scanner) refuse(rule string) error {
	return &PayloadError{Pointer: s.pointer(), Rule: rule}
}
