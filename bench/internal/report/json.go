package report

import (
	"encoding/json"
	"io"
	"math"
	"strings"
)

// WriteJSON writes one object: each figure by its name, "spread" with the least and the greatest sample of each figure
// that has several, "targets", and what there is to say as "facts", "notes", "checks_failed" and "left_out".
func (f *Figures) WriteJSON(w io.Writer) error {
	object := map[string]any{}
	spread := map[string][2]float64{}
	for _, name := range f.Names("") {
		value, _ := f.Get(name)
		place(object, strings.Split(name, "."), round(value))
		if least, most := f.Span(name); least != most {
			spread[name] = [2]float64{round(least), round(most)}
		}
	}
	object["spread"] = spread
	object["targets"] = f.verdicts()
	f.mu.Lock()
	object["facts"], object["notes"] = f.facts, orEmpty(f.notes)
	object["checks_failed"], object["left_out"] = orEmpty(f.failed), orEmpty(f.left)
	f.mu.Unlock()
	return json.NewEncoder(w).Encode(object)
}

func orEmpty(list []string) []string { return append([]string{}, list...) }

// place puts a value into nested objects.
func place(object map[string]any, path []string, value float64) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = value
}

// round keeps five digits: more would claim an exactness that nothing here has.
func round(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0 // JSON knows neither
	}
	scale := math.Pow(10, 4-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// verdict is a target in JSON.
type verdict struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Must  float64 `json:"must"`
	Aim   float64 `json:"aim,omitempty"`
	Met   bool    `json:"met"`
}

func (f *Figures) verdicts() []verdict {
	list := []verdict{}
	for _, t := range Targets {
		if value, ok := t.Value(f); ok {
			list = append(list, verdict{t.Name, round(value), t.Must, t.Aim, t.Met(value)})
		}
	}
	return list
}
