package history

// ShowAccepted shows every accepted message, in order of acceptance, to whoever looks at a run between its turns, and
// returns how many IDs had settled before: see FirstOf. What only a turn decides stays as it was: which wait takes a
// signal, and what a time that has come leads to. No turn may go on from the state.
func (s *State) ShowAccepted() (settled int32) {
	settled = s.settled
	for len(s.pending) > 0 {
		s.take(s.pending[0].seq)
	}
	return settled
}

// FirstOf is First among the IDs that settled up to a place. The order of what settled later is for a turn to fix: a
// deadline may lie before an acceptance.
func (s *State) FirstOf(settled int32, ids ...string) string {
	var known []string
	for _, id := range ids {
		if place := s.settledAt(id); place != 0 && place <= settled {
			known = append(known, id)
		}
	}
	return s.First(known...)
}
