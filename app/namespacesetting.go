package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/flowgate-go/flowgate/gateway"
	"github.com/flowgate-go/flowgate/internal/canon"
	"github.com/flowgate-go/flowgate/spec"
)

const settingNamespacesFile = "FLOWGATE_NAMESPACES_FILE"

// maxNamespaces bounds the namespaces with rules of their own.
const maxNamespaces = 10_000

// namespaceSetting says what holds for single namespaces.
type namespaceSetting struct {
	NamespacesFile string `setting:"FLOWGATE_NAMESPACES_FILE" placeholder:"PATH" help:"JSON file with rules of single namespaces: their rate, and whether messages must have an idempotency key."`
}

// namespaces reads the file; nil when there is none. Refusals name the place in it.
func (s namespaceSetting) namespaces() (map[spec.Namespace]gateway.NamespaceRules, error) {
	if s.NamespacesFile == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.NamespacesFile)
	if err != nil {
		return nil, setting(settingNamespacesFile, fmt.Sprintf("cannot be read: %v", err))
	}
	// Names that stand twice, which the decoder below passes over, are found here.
	if _, err := canon.Parse(text, canon.Limits{MaxBytes: 4 << 20}); err != nil {
		return nil, setting(settingNamespacesFile, err.Error())
	}
	var file struct {
		Namespaces map[spec.Namespace]struct {
			Requests              string `json:"requests"`
			RequireIdempotencyKey bool   `json:"require_idempotency_key"`
		} `json:"namespaces"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, setting(settingNamespacesFile, `must be {"namespaces":{"NAME":{"requests":"100/s:200","require_idempotency_key":true}}}, either of the two left out at will`)
	}
	if len(file.Namespaces) > maxNamespaces {
		return nil, setting(settingNamespacesFile, fmt.Sprintf("must name at most %d namespaces, names %d", maxNamespaces, len(file.Namespaces)))
	}
	rules := map[spec.Namespace]gateway.NamespaceRules{}
	for _, ns := range slices.Sorted(maps.Keys(file.Namespaces)) {
		if err := ns.Validate(); err != nil {
			return nil, setting(settingNamespacesFile, fmt.Sprintf("/namespaces: the name %q: %v", ns, err))
		}
		from := file.Namespaces[ns]
		to := gateway.NamespaceRules{RequireIdempotencyKey: from.RequireIdempotencyKey}
		if from.Requests != "" {
			if to.Requests, err = parseRate(settingNamespacesFile, from.Requests); err != nil {
				return nil, setting(settingNamespacesFile, fmt.Sprintf("/namespaces/%s/requests must be a rate, such as 100/s:200, or off", ns))
			}
		}
		rules[ns] = to
	}
	return rules, nil
}
