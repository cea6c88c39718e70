package history

func (s *State) applyWait(e Event) string {
	switch d := e.Data.(type) {
	case *WaitOpened:
		return s.openWait(e, d)
	case *WaitCompleted:
		w, ok := s.waits[string(d.WaitID)]
		if !ok || w.status != WaitOpen {
			return "the wait is not open"
		}
		line := s.buffer[w.signal]
		if len(line) == 0 || line[0].seq != d.SignalSeq || line[0].data.SignalID != d.SignalID {
			return "the signal is not the next unread one of its name"
		}
		w.payload = line[0].data.Payload
		s.consume(w.signal)
		s.closeWait(w, WaitDone)
	case *WaitTimedOut:
		w, ok := s.waits[string(d.WaitID)]
		if !ok || w.status != WaitOpen || w.deadline == nil || e.At.Before(*w.deadline) {
			return "the wait is not open or not due"
		}
		s.advance(later(*w.deadline, w.openedAt))
		s.closeWait(w, WaitLate)
	case *WaitWithdrawn:
		w, ok := s.waits[string(d.WaitID)]
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
	if !s.claim(id, KindWait) {
		return "the ID is of another kind"
	}
	w, known := s.waits[id]
	if known != d.Again || known && (w.status != WaitWithdrew || w.signal != d.Signal) {
		return "the wait was opened before"
	}
	if !known {
		w = &wait{id: d.WaitID, signal: d.Signal, deadline: d.Deadline}
		s.waits[id] = w
	}
	w.again, w.status, w.openedSeq, w.openedAt = d.Again, WaitOpen, e.Seq, e.At
	if d.OpenedAt != nil {
		w.openedAt = *d.OpenedAt
	}
	s.queue = append(s.queue, w)
	s.watch(w.deadline)
	return ""
}

func (s *State) closeWait(w *wait, status WaitStatus) {
	w.status = status
	s.unqueue(w)
	s.settle(string(w.id))
}

// consume drops the head of a line.
func (s *State) consume(name string) {
	s.buffer[name] = s.buffer[name][1:]
	if len(s.buffer[name]) == 0 {
		delete(s.buffer, name)
	}
	s.unread--
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
		s.settle(string(d.TimerID))
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
	if !s.claim(id, KindTimer) {
		return "the ID is of another kind"
	}
	t, known := s.timers[id]
	if known != d.Again || known && t.status != WaitWithdrew {
		return "the timer was started before"
	}
	if !known {
		t = &timer{id: d.TimerID, due: d.Due}
		s.timers[id] = t
	}
	t.status, t.openedSeq, t.openedAt = WaitOpen, e.Seq, e.At
	if d.OpenedAt != nil {
		t.openedAt = *d.OpenedAt
	}
	s.ticking = append(s.ticking, t)
	s.watch(&t.due)
	return ""
}
