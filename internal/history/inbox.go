package history

import (
	"iter"
	"slices"
	"time"
)

// message is an accepted signal that no wait has consumed.
type message struct {
	seq  int64
	at   time.Time
	data *SignalReceived
}

// inbox holds the unread signals of a run, in order of acceptance. The zero inbox is empty.
type inbox struct {
	few  []*message            // of all names
	many map[string][]*message // by name, from when they were too many for the list until there is none
}

// put adds a signal, the last one accepted.
func (b *inbox) put(m *message) {
	if b.many == nil && len(b.few) < fewThings {
		b.few = append(b.few, m)
		return
	}
	if b.many == nil {
		b.many = map[string][]*message{}
		for _, earlier := range b.few {
			b.many[earlier.data.Name] = append(b.many[earlier.data.Name], earlier)
		}
		b.few = nil
	}
	b.many[m.data.Name] = append(b.many[m.data.Name], m)
}

// size is how many signals there are. It takes a look at each name.
func (b *inbox) size() int {
	n := len(b.few)
	for _, line := range b.many {
		n += len(line)
	}
	return n
}

// head is the first signal of a name; nil when there is none.
func (b *inbox) head(name string) *message {
	for _, m := range b.few {
		if m.data.Name == name {
			return m
		}
	}
	if line := b.many[name]; len(line) > 0 {
		return line[0]
	}
	return nil
}

// drop removes the first signal of a name, which there must be.
func (b *inbox) drop(name string) {
	if b.many == nil {
		first := slices.IndexFunc(b.few, func(m *message) bool { return m.data.Name == name })
		b.few = slices.Delete(b.few, first, first+1)
		return
	}
	line := b.many[name]
	line[0] = nil // what was read is not to be kept by what was not
	if b.many[name] = line[1:]; len(line) == 1 {
		delete(b.many, name)
	}
	if len(b.many) == 0 {
		b.many = nil
	}
}

// of lists the signals of one name.
func (b *inbox) of(name string) iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for _, m := range b.few {
			if m.data.Name == name && !yield(m) {
				return
			}
		}
		for _, m := range b.many[name] {
			if !yield(m) {
				return
			}
		}
	}
}

// all lists every signal: those of one name in order of acceptance, the names in any.
func (b *inbox) all() iter.Seq[*message] {
	return func(yield func(*message) bool) {
		for _, m := range b.few {
			if !yield(m) {
				return
			}
		}
		for _, line := range b.many {
			for _, m := range line {
				if !yield(m) {
					return
				}
			}
		}
	}
}
