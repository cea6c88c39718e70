package gateway

import (
	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/spec"
)

// signalKey returns the idempotency key that names a signal or an update, empty when the caller gives none. The header's bytes are
// taken as they are and win over the parameter, which is form-decoded once; each one present must be valid, also the
// one that loses. A repeated header was refused
// before. The route may know other parameters.
func signalKey(c *fiber.Ctx, others ...string) (string, error) {
	key, given := "", false
	query, err := queryOf(c, append([]string{"idempotency_key"}, others...)...)
	if err != nil {
		return "", err
	}
	if values := query["idempotency_key"]; len(values) > 0 {
		if key, given = values[0], true; len(values) > 1 || !validKey(key) {
			return "", refuse(keyInvalid)
		}
	}
	if lines := c.Request().Header.PeekAll("Idempotency-Key"); len(lines) > 0 {
		if key, given = string(lines[0]), true; !validKey(key) {
			return "", refuse(keyInvalid)
		}
	}
	if !given {
		return "", nil
	}
	return key, nil
}

func validKey(key string) bool { return spec.SignalID(key).Validate() == nil }
