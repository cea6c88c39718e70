package history

import (
	"reflect"

	"github.com/flowgate-go/flowgate/internal/canon"
)

// Equal says whether two decisions ask for the same, so that calling workflow code twice on one state can show that it
// does not always decide alike. Tokens to be minted are not compared.
func (d Decision) Equal(other Decision) bool {
	if len(d.Commands) != len(other.Commands) {
		return false
	}
	for i, c := range d.Commands {
		if !reflect.DeepEqual(comparable(c), comparable(other.Commands[i])) {
			return false
		}
	}
	return true
}

// comparable replaces a command by what counts in a comparison.
func comparable(c Command) any {
	type ending struct {
		kind   string
		digest canon.Digest
	}
	type asking struct {
		command any
		digest  canon.Digest
	}
	switch c := c.(type) {
	case *CreateHook:
		alike := *c
		alike.Grant = TokenGrant{}
		return alike
	case *ScheduleStep:
		alike := *c
		alike.Input = canon.Payload{}
		return asking{alike, c.Input.Digest()}
	case *StartChild:
		alike := *c
		alike.Input = canon.Payload{}
		return asking{alike, c.Input.Digest()}
	case *CallSignal:
		alike := *c
		alike.Payload = canon.Payload{}
		return asking{alike, c.Payload.Digest()}
	case *CompleteUpdate:
		alike := *c
		alike.Output = canon.Payload{}
		return asking{alike, c.Output.Digest()}
	case *Complete:
		return ending{"complete", c.Output.Digest()}
	case *ContinueAsNew:
		return ending{"continue", c.Input.Digest()}
	}
	return c
}
