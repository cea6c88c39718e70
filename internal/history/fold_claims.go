package history

func (s *State) applyWait(e Event) string {
	switch d := e.Data.(type) {
	case *WaitOpened:
		return s.openWait(e, d)
	case *WaitCompleted:
		w, ok := s.waits.get(string(d.WaitID))
		if !ok || w.status != WaitOpen {
			return "the wait is not open"
		}
		m := s.unread.head(w.signal)
		if m == nil || m.seq != d.SignalSeq || m.data.SignalID != d.SignalID {
			return "the signal is not the next unread one of its name"
		}
		w.took = m.data
		s.unread.drop(w.signal)
		s.closeWait(w, WaitDone)
	case *WaitTimedOut:
		w, ok := s.waits.get(string(d.WaitID))
		if !ok || w.status != WaitOpen || w.deadline == nil || e.At.Before(*w.deadline) {
			return "the wait is not open or not due"
		}
		s.advance(later(*w.deadline, w.openedAt))
		s.closeWait(w, WaitLate)
	case *WaitWithdrawn:
		w, ok := s.waits.get(string(d.WaitID))
		if !ok || w.status != WaitOpen {
			return "the wait is not open"
		}
		w.status = WaitWithdrew
		s.unqueue(w)
	}
	return ""
}

func (s *State) openWait(e Event, d *WaitOpened) string {
	id := string(d.WaitID)
	if !s.mayBe(id, KindWait) {
		return "the ID is of another kind"
	}
	w, known := s.waits.get(id)
	if known != d.Again || known && (w.status != WaitWithdrew || w.signal != d.Signal) {
		return "the wait was opened before"
	}
	if !known {
		w = &wait{id: d.WaitID, signal: d.Signal, deadline: d.Deadline}
		s.waits.add(w)
	}
	w.again, w.status, w.openedSeq, w.openedAt = d.Again, WaitOpen, e.Seq, e.At
	if d.OpenedAt != nil {
		w.openedAt = *d.OpenedAt
	}
	s.queue = append(s.queue, w)
	s.watch(w.deadline, e.At)
	return ""
}

func (s *State) closeWait(w *wait, status WaitStatus) {
	w.status = status
	s.unqueue(w)
	s.settle(&w.settled)
}

func (s *State) applyTimer(e Event) string {
	switch d := e.Data.(type) {
	case *TimerStarted:
		return s.startTimer(e, d)
	case *TimerFired:
		t, ok := s.timers[string(d.TimerID)]
		if !ok || t.status != WaitOpen || e.At.Before(t.due) {
			return "the timer is not open or not due"
		}
		s.advance(later(t.due, t.openedAt))
		t.status = WaitDone
		s.stopTicking(t)
		s.settle(&t.settled)
	case *TimerCancelled:
		t, ok := s.timers[string(d.TimerID)]
		if !ok || t.status != WaitOpen {
			return "the timer is not open"
		}
		t.status = WaitWithdrew
		s.stopTicking(t)
	}
	return ""
}

func (s *State) startTimer(e Event, d *TimerStarted) string {
	id := string(d.TimerID)
	if !s.mayBe(id, KindTimer) {
		return "the ID is of another kind"
	}
	t, known := s.timers[id]
	if known != d.Again || known && t.status != WaitWithdrew {
		return "the timer was started before"
	}
	if !known {
		t = &timer{id: d.TimerID, due: d.Due}
		if s.timers == nil {
			s.timers = map[string]*timer{}
		}
		s.timers[id] = t
	}
	t.status, t.openedSeq, t.openedAt = WaitOpen, e.Seq, e.At
	if d.OpenedAt != nil {
		t.openedAt = *d.OpenedAt
	}
	s.ticking = append(s.ticking, t)
	s.watch(&t.due, e.At)
	return ""
}
