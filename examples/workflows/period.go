package workflows

import (
	"encoding/json"
	"time"

	"github.com/flowgate-go/flowgate/engine"
)

// duration is the JSON Schema of a Go duration such as "90s" or "1h30m".
const duration = `{"type":"string","pattern":"^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$","maxLength":40}`

// expiresIn is the schema member of an optional time to live.
const expiresIn = `"expires_in":` + duration

// period is a duration in an input; zero means none.
type period time.Duration

// UnmarshalJSON reads a Go duration.
func (p *period) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	d, err := time.ParseDuration(s)
	*p = period(d)
	return err
}

// option adds the time to live to a hook's options, where there is one.
func (p period) option(opts ...engine.HookOption) []engine.HookOption {
	if p == 0 {
		return opts
	}
	return append(opts, engine.ExpiresIn(time.Duration(p)))
}
