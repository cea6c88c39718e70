package gateway

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/spec"
)

const (
	defaultPage = 50
	maxPage     = 200
)

// query holds the parameters of a request, form-decoded once.
type query url.Values

// queryOf reads the parameters of a request. A parameter that the route does not know is refused: a misspelt filter
// that lists everything is worse than an error.
func queryOf(c *fiber.Ctx, known ...string) (query, error) {
	values, err := url.ParseQuery(string(c.Request().URI().QueryString()))
	if err != nil {
		return nil, refuse(malformedRequest)
	}
	for name := range values {
		if !slices.Contains(known, name) {
			return nil, unknownField(name, "is not a parameter of this request")
		}
	}
	return query(values), nil
}

// text returns a parameter that may be given once, empty when it is absent.
func (q query) text(name string) (string, error) {
	values := q[name]
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", &spec.InvalidError{Field: name, Rule: "must be given once"}
	case values[0] == "":
		return "", &spec.InvalidError{Field: name, Rule: "must not be empty"}
	}
	return values[0], nil
}

// whole returns a whole number between low and high, or the fallback when the parameter is absent.
func (q query) whole(name string, low, high, fallback int) (int, error) {
	text, err := q.text(name)
	if err != nil || text == "" {
		return fallback, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, &spec.InvalidError{Field: name, Rule: fmt.Sprintf("must be a whole number from %d to %d", low, high)}
	}
	return n, nil
}

// span returns a Go duration between zero and high, zero when the parameter is absent.
func (q query) span(name string, high time.Duration) (time.Duration, error) {
	text, err := q.text(name)
	if err != nil || text == "" {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > high {
		return 0, &spec.InvalidError{Field: name, Rule: fmt.Sprintf("must be a duration such as 30s, from 0s to %s", high)}
	}
	return d, nil
}

// labels returns the label filter, one key=value per parameter; all of them must hold.
func (q query) labels() (spec.Labels, error) {
	values := q["label"]
	if len(values) == 0 {
		return nil, nil
	}
	out := make(spec.Labels, len(values))
	for _, text := range values {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return nil, &spec.InvalidError{Field: "label", Rule: "must be key=value"}
		}
		if before, named := out[key]; named && before != value {
			return nil, &spec.InvalidError{Field: "label", Rule: "must not ask two values of one key"}
		}
		out[key] = value
	}
	return out, out.Validate()
}

// page returns the cursor and the limit of a list.
func (q query) page() (cursor string, limit int, err error) {
	if cursor, err = q.text("cursor"); err != nil {
		return "", 0, err
	}
	limit, err = q.whole("limit", 1, maxPage, defaultPage)
	return cursor, limit, err
}
