package throttle_test

import (
	"testing"

	"github.com/flowgate-go/flowgate/gateway/internal/throttle"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	m := throttle.NewMemory[int, string](room)
	m.Set(1, "one")
	if v, known := m.Get(1); !known || v != "one" {
		t.Errorf("got %q, %v", v, known)
	}
	m.Forget(1)
	if _, known := m.Get(1); known {
		t.Error("it is not forgotten")
	}
	for i := range 100 * room {
		m.Set(i, "")
	}
	if n := m.Len(); n > room {
		t.Errorf("%d keys are remembered", n)
	}
	if m.Overflows() < 99*room {
		t.Errorf("%d evictions were counted", m.Overflows())
	}
}

func TestShares(t *testing.T) {
	t.Parallel()
	s := throttle.NewShares[string](2)
	for i, want := range []bool{true, true, false} {
		if s.Take("a") != want {
			t.Errorf("a share of two is not two: taking number %d", i+1)
		}
	}
	if !s.Take("b") {
		t.Error("another one has no share")
	}
	s.Force("a")
	s.Give("a")
	s.Give("a")
	if !s.Take("a") || s.Take("a") {
		t.Error("what was given back is not there, or too much is")
	}
	s.Give("a")
	s.Give("a")
	s.Give("b")
	if s.Len() != 0 || s.Used("a") != 0 {
		t.Errorf("%d keys take room and use nothing", s.Len())
	}
}
