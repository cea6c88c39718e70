package gateway

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"
)

// queryAnswer is the body of an answered query.
type queryAnswer struct {
	Result json.RawMessage `json:"result"`
}

// askQuery asks a run a question without an argument.
func (g *Gateway) askQuery(c *fiber.Ctx, k *call) error { return k.ask(c, []byte("null")) }

// askQueryWith asks a run a question; the body is the argument.
func (g *Gateway) askQueryWith(c *fiber.Ctx, k *call) error {
	body, err := bodyOf(c)
	if err != nil {
		return err
	}
	return k.ask(c, append([]byte{}, body...)) // never nil, which would stand for null: an empty body is no JSON
}

func (k *call) ask(c *fiber.Ctx, arg []byte) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	result, err := k.handle.Query(c.UserContext(), k.run, k.name, arg)
	if err != nil {
		return err
	}
	return k.show(c, queryAnswer{result})
}
