package gateway

import (
	"github.com/gofiber/fiber/v2"

	"github.com/flowgate-go/flowgate/engine"
)

// listWorkflows lists the workflows that runs can be started of.
func (g *Gateway) listWorkflows(c *fiber.Ctx, k *call) error {
	if _, err := queryOf(c); err != nil {
		return err
	}
	all, err := g.engine.Workflows(c.UserContext())
	if err != nil {
		return err
	}
	return k.show(c, engine.Page[engine.WorkflowInfo]{Items: all})
}

// showInterface shows what messages the runs of a workflow take.
func (g *Gateway) showInterface(c *fiber.Ctx, k *call) error {
	known, err := g.engine.Interface(c.UserContext(), k.name)
	if err != nil {
		return err
	}
	return k.show(c, known)
}
