package canon

import (
	"bytes"
	"slices"
)

// key reads a member's key and its colon, and begins the member.
func (s *scanner) key() error {
	s.space()
	if s.peek() != '"' {
		return s.refuse(ruleSyntax)
	}
	m := member{keyStart: len(s.keys), start: len(s.out)}
	if err := s.text(true); err != nil {
		return err
	}
	m.keyEnd = len(s.keys)
	s.members = append(s.members, m)
	s.space()
	if s.peek() != ':' {
		return s.refuse(ruleSyntax)
	}
	s.pos++
	s.out = append(s.out, ':')
	return nil
}

// endMember notes where the current member's value ends.
func (s *scanner) endMember(f *frame) {
	if f.object && len(s.members) > f.member {
		s.members[len(s.members)-1].end = len(s.out)
	}
}

// sortMembers puts the members of the object that is about to close in key
// order and refuses a key that occurs twice. Members that came sorted, as those
// of most encoders do, are not moved.
func (s *scanner) sortMembers(f *frame) error {
	ms := s.members[f.member:]
	if !slices.IsSortedFunc(ms, s.compareKeys) {
		slices.SortFunc(ms, s.compareKeys)
		s.rewrite(f, ms)
	}
	for i := 1; i < len(ms); i++ {
		if s.compareKeys(ms[i-1], ms[i]) == 0 {
			return &PayloadError{Pointer: s.pointerTo(ms[i]), Rule: ruleDuplicate}
		}
	}
	return nil
}

// rewrite writes the object's members again in the order of ms.
func (s *scanner) rewrite(f *frame, ms []member) {
	s.scratch = append(s.scratch[:0], s.out[f.start:]...)
	s.out = s.out[:f.start]
	for i, m := range ms {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		s.out = append(s.out, s.scratch[m.start-f.start:m.end-f.start]...)
	}
}

// compareKeys orders members by the bytes of their unescaped keys.
func (s *scanner) compareKeys(a, b member) int {
	return bytes.Compare(s.keys[a.keyStart:a.keyEnd], s.keys[b.keyStart:b.keyEnd])
}
