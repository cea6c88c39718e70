package gateway

import (
	"testing"

	"github.com/flowgate-go/flowgate/internal/pgembed/pgtest"
	"github.com/flowgate-go/flowgate/spec"
)

// A person sees each digit of a number: what was rounded would be another account, or another amount.
func TestPage_shows_numbers_exactly(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := pagesOn(t, url, nil, nil)
	s.asks("r", askInput{Meta: spec.HumanApproval("Pay").WithData("price", 12.5)})
	path := s.page("r", "ada")
	execute(t, url, `update hooks set metadata = jsonb_set(metadata, '{data}', metadata->'data' ||
		'{"account":12345678901234567891,"amount":9007199254740993.01,"much":1e21,"lines":[36893488147419103233]}')`)
	r, nonce := s.read(path)
	says(t, r, ">12345678901234567891<", ">9007199254740993.01<", ">1000000000000000000000<", ">12.5<", "  36893488147419103233\n")
	execute(t, url, `update hooks set metadata = jsonb_set(metadata, '{data,account}', '12345678901234567892')`)
	changed := s.send(path, "nonce", nonce, "decision", "approve")
	checkPage(t, changed, 409)
	says(t, changed, ">12345678901234567892<")
	checkKept(t, s.send(path, "nonce", nonceOf(changed), "decision", "approve"), path)
}
