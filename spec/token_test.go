package spec_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/flowgate-go/flowgate/spec"
)

func TestCheckNoToken(t *testing.T) {
	t.Parallel()
	const body = "7R45vahC06GeCCI5MXZyMHyO8iYtDvxu2UdxPq0A1zX"
	for text, holds := range map[string]bool{
		"":                                false,
		"invoice-7":                       false,
		"fhk_" + body:                     true,
		"fhk_" + body + "yO8iYtDvxu2UdxP": true,
		"https://gate/fhk_" + body + "/x": true,
		"FHK_" + strings.ToUpper(body):    false, // opens nothing
		"fha_" + body:                     true,
		"x.fhk_ fhk_" + body:              true,
		"xfhk_" + body:                    false, // inside a word
		"confirm-fhk_" + body:             true,
		"confirm_fhk_" + body:             true,
		"fhk_" + body[1:]:                 false, // an ID of 46 characters
		"fhk_" + body[:10] + "-" + body:   false,
		"fh1_" + body:                     false,
		"fge_" + body:                     true,
		"key=fge_" + body:                 true,
		"fgf_" + body:                     false,
		"xfge_" + body:                    false,
		"hk_" + body:                      false,
		"_" + body:                        false,
		"fhk-" + body:                     false,
		"fhk_":                            false,
		"a_b_c_fhx":                       false,
	} {
		err := spec.CheckNoToken("run_id", text)
		var invalid *spec.InvalidError
		if holds != errors.As(err, &invalid) || !holds && err != nil {
			t.Errorf("%q: %v, want a refusal: %t", text, err, holds)
		}
		if holds && (invalid.Field != "run_id" || strings.Contains(err.Error(), body)) {
			t.Errorf("%q: the refusal is %v", text, err)
		}
	}
	for name, err := range map[string]error{
		"an ID":    spec.RunID("fhk_" + body).Validate(),
		"a label":  spec.Labels{"link": "see fhk_" + body}.Validate(),
		"metadata": spec.HumanApproval("x").WithData("link", []any{map[string]any{"url": "https://gate/fhk_" + body}}).Validate(),
	} {
		if err == nil {
			t.Errorf("%s may hold a token", name)
		}
	}
}
