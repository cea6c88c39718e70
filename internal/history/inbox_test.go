package history

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// An inbox is a line of messages for each name, few or many.
func TestInbox_is_a_line_for_each_name(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var box inbox
		lines, size := map[string][]int64{}, 0
		name := func() string { return fmt.Sprint("name-", rapid.IntRange(0, 3).Draw(t, "name")) }
		for seq := range int64(rapid.IntRange(1, 60).Draw(t, "steps")) {
			n := name()
			if drops := rapid.IntRange(0, 9).Draw(t, "drops") < 4; drops && len(lines[n]) > 0 {
				box.drop(n)
				lines[n] = lines[n][1:]
				size--
			} else if !drops {
				box.put(&message{seq: seq, data: &SignalReceived{Name: n}})
				lines[n] = append(lines[n], seq)
				size++
			}
			if box.size() != size {
				t.Fatalf("%d messages, want %d", box.size(), size)
			}
			all := map[string][]int64{}
			for m := range box.all() {
				all[m.data.Name] = append(all[m.data.Name], m.seq)
			}
			for n, line := range lines {
				var of []int64
				for m := range box.of(n) {
					of = append(of, m.seq)
				}
				head := box.head(n)
				if !slices.Equal(of, line) || !slices.Equal(all[n], line) ||
					(head == nil) != (len(line) == 0) || head != nil && head.seq != line[0] {
					t.Fatalf("%s: %v, among all %v, head %v, want %v", n, of, all[n], head, line)
				}
			}
		}
		if size == 0 && (box.many != nil || slices.ContainsFunc(box.few[:cap(box.few)], func(m *message) bool { return m != nil })) {
			t.Fatal("an empty inbox keeps messages")
		}
	})
}

// An index finds what was added and nothing else, few or many.
func TestIndex_finds_what_was_added(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var x index[*labelled]
		want := map[string]*labelled{}
		for i := range rapid.IntRange(0, 3*fewThings).Draw(t, "things") {
			thing := &labelled{fmt.Sprint("id-", i)}
			x.add(thing)
			want[thing.id] = thing
			if got, ok := x.get(fmt.Sprint("id-", i+1)); ok {
				t.Fatalf("found %v, which was not added", got)
			}
			for id, w := range want {
				if got, ok := x.get(id); !ok || got != w {
					t.Fatalf("%s is %v, want %v", id, got, w)
				}
			}
		}
		if all := x.things(); !maps.Equal(all, want) && len(want) > 0 {
			t.Fatalf("all are %v, want %v", all, want)
		}
	})
}

type labelled struct{ id string }

func (t *labelled) label() string { return t.id }
