package history

import "iter"

// fewThings is how many things a list holds at most. So many are found sooner by a look at each than by a map, and take a
// fraction of a map's memory; nearly every run has fewer.
const fewThings = 8

// named is a thing of a state that has an ID.
type named interface{ label() string }

// index finds things of one kind by ID. The zero index is empty.
type index[T named] struct {
	few  []T
	many map[string]T // all of them, once they are too many for the list
}

// get finds the thing of an ID.
func (x *index[T]) get(id string) (thing T, ok bool) {
	if x.many != nil {
		thing, ok = x.many[id]
		return thing, ok
	}
	for _, t := range x.few {
		if t.label() == id {
			return t, true
		}
	}
	return thing, false
}

// add takes a thing whose ID is not in the index.
func (x *index[T]) add(thing T) {
	if x.many == nil && len(x.few) < fewThings {
		x.few = append(x.few, thing)
		return
	}
	if x.many == nil {
		x.many = make(map[string]T, 2*fewThings)
		for _, t := range x.few {
			x.many[t.label()] = t
		}
		x.few = nil
	}
	x.many[thing.label()] = thing
}

// all lists the things, in any order.
func (x *index[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, t := range x.few {
			if !yield(t) {
				return
			}
		}
		for _, t := range x.many {
			if !yield(t) {
				return
			}
		}
	}
}
