package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

const (
	// maxCost is how many checks one value of a payload may cost.
	maxCost = 10_000
	// costDepth is how deep the cost is followed; growth that stays below the
	// limit down to here is not exponential.
	costDepth = 64
)

// checkCost refuses schemas with which a payload takes time out of proportion:
// a subschema that is applied to its own value again, and subschemas that
// multiply, side by side or from level to level.
//
// Let N(s, 0) be the checks that s makes on a value itself, N(s, k) those it
// causes on one descendant k levels below. Both are sums over what s applies to
// the same value and to children, so they follow bottom up, level by level. A
// payload of n values then costs n × maxCost at most.
func checkCost(nodes []*node) error {
	ordered, err := order(nodes)
	if err != nil {
		return err
	}
	above := map[*jsonschema.Schema]int{}
	for level := range costDepth + 1 {
		cost := make(map[*jsonschema.Schema]int, len(ordered))
		for _, n := range ordered {
			c := n.cost(level, cost, above)
			if c > maxCost {
				return &CompileError{
					Pointer: place(n.schema),
					Rule:    "it would check one value more than 10000 times; combine fewer subschemas",
				}
			}
			cost[n.schema] = c
		}
		above = cost
	}
	return nil
}

// cost is N(n, level), given the costs at this level of what n applies to the
// same value, and at the level above of what it applies to children.
func (n *node) cost(level int, cost, above map[*jsonschema.Schema]int) int {
	sum := 0
	if level == 0 {
		sum = 1 + len(n.schema.Required) + len(n.schema.PatternProperties)
		if n.schema.Enum != nil {
			sum += len(n.schema.Enum.Values)
		}
	} else {
		most := 0
		for _, child := range n.one {
			most = max(most, above[child])
		}
		sum = most
		for _, child := range n.every {
			sum += above[child]
		}
	}
	for _, child := range n.same {
		sum += cost[child]
	}
	return sum
}

// order returns the nodes so that each comes after all it applies to the same
// value. It refuses a cycle among those, which no payload could get through.
func order(nodes []*node) ([]*node, error) {
	const open, done = 1, 2
	byschema := make(map[*jsonschema.Schema]*node, len(nodes))
	for _, n := range nodes {
		byschema[n.schema] = n
	}
	state := make(map[*node]int, len(nodes))
	ordered := make([]*node, 0, len(nodes))
	var visit func(*node) error
	visit = func(n *node) error {
		switch state[n] {
		case open:
			return &CompileError{Pointer: place(n.schema), Rule: "it leads back to itself without going into the value"}
		case done:
			return nil
		}
		state[n] = open
		for _, child := range n.same {
			if err := visit(byschema[child]); err != nil {
				return err
			}
		}
		state[n] = done
		ordered = append(ordered, n)
		return nil
	}
	for _, n := range nodes {
		if err := visit(n); err != nil {
			return nil, err
		}
	}
	return ordered, nil
}
