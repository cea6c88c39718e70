package canon_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// hostile are payloads of about 256 KiB that are dear to a careless parser.
func hostile() map[string]string {
	var keys, ordered, prefix strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&keys, `"%d":0,`, (i*7919)%25_000)
		fmt.Fprintf(&ordered, `"%05d":0,`, i)
	}
	for i := range 500 {
		fmt.Fprintf(&prefix, `"%s%03d":0,`, strings.Repeat("k", 500), 999-i)
	}
	tower := "0"
	for range 64 {
		tower = fmt.Sprintf(`{"b":%s,"a":"%s"}`, tower, strings.Repeat("x", 4000))
	}
	object := func(b strings.Builder) string { return "{" + strings.TrimSuffix(b.String(), ",") + "}" }
	return map[string]string{
		"small":          `{"reviewer":"ada","decision":"approved","amount":1250.00,"tags":["a","b"]}`,
		"brackets":       strings.Repeat("[", 256<<10),
		"keys":           object(keys),
		"ordered keys":   object(ordered),
		"common prefix":  object(prefix),
		"unsorted tower": tower,
		"numbers":        "[" + strings.Repeat("10,", 87_000) + "1]",
		"long numbers":   "[" + strings.Repeat("1"+strings.Repeat("0", 300)+",", 860) + "1]",
		"escapes":        `"` + strings.Repeat(`\ud83d\ude00`, 21_000) + `"`,
		"text":           `"` + strings.Repeat("x", 256<<10-2) + `"`,
	}
}

func BenchmarkParse(b *testing.B) {
	for name, text := range hostile() {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_, _ = canon.Parse([]byte(text), canon.Limits{})
			}
		})
	}
}

// BenchmarkDigest parses payloads of the sizes that callers send, as most encoders write them and as few do.
func BenchmarkDigest(b *testing.B) {
	object := func(members int, sorted bool) string {
		var text strings.Builder
		for i := range members {
			if !sorted {
				i = (i * 7) % members
			}
			fmt.Fprintf(&text, `,"field%03d":"value of it"`, i)
		}
		return "{" + text.String()[1:] + "}"
	}
	for name, text := range map[string]string{
		"200B canonical": object(8, true), "200B unsorted": object(8, false),
		"10kB canonical": object(401, true), "10kB unsorted": object(401, false),
		"200B spaced": strings.NewReplacer(":", ": ", ",", ",\n  ").Replace(object(8, true)),
	} {
		raw := []byte(text)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := canon.Parse(raw, canon.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Memory is the cost of a hostile payload that can be asserted on any machine.
// Not parallel: it reads counters of the whole process.
func TestHostilePayloadsAllocateInProportion(t *testing.T) {
	for name, text := range hostile() {
		raw := []byte(text)
		parse := func() { _, _ = canon.Parse(raw, canon.Limits{}) }
		if n := testing.AllocsPerRun(1, parse); n > 100 {
			t.Errorf("%s: %.0f allocations", name, n)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		parse()
		runtime.ReadMemStats(&after)
		if bytes, most := after.TotalAlloc-before.TotalAlloc, uint64(24*len(raw)+4096); bytes > most {
			t.Errorf("%s: %d bytes allocated for %d bytes of payload, want at most %d", name, bytes, len(raw), most)
		}
	}
}
