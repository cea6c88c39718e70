package engine

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"time"
)

const (
	// pageFormLife is how long a form may be sent after it was made.
	pageFormLife = 15 * time.Minute
	// pageFormSkew is how far the clock of the process that made a form may be ahead.
	pageFormSkew = time.Minute
)

// The parts of a form: when it was made, what the page showed, and a keyed sum of these and of what they are bound to.
const (
	formTime  = 8
	formShown = formTime + sha256.Size
	formLen   = formShown + sha256.Size
)

// NewPageForm makes the nonce of a form on a page. It holds for 15 minutes, in every process, and for this page, what it
// showed and bound only: bound is what else the form stands for, such as a decision that is to be confirmed. Nothing is stored.
func (e *Engine) NewPageForm(token string, shown [sha256.Size]byte, bound string) string {
	form := binary.BigEndian.AppendUint64(make([]byte, 0, formLen), uint64(e.cfg.Clock().UnixMilli()))
	form = append(form, shown[:]...)
	sum := e.cfg.Keys.FormSum(form, []byte(token), []byte(bound))
	return base64.RawURLEncoding.EncodeToString(append(form, sum[:]...))
}

// OpenPageForm gives what the page showed when a form was made. Its error is ErrPageForm for a nonce that is absent, old, of
// another page, of something else than bound, or not ours.
func (e *Engine) OpenPageForm(token, nonce, bound string) (shown [sha256.Size]byte, err error) {
	form, err := base64.RawURLEncoding.Strict().DecodeString(nonce)
	if err != nil || len(form) != formLen {
		return shown, ErrPageForm
	}
	if !e.cfg.Keys.IsFormSum(form[formShown:], form[:formShown], []byte(token), []byte(bound)) {
		return shown, ErrPageForm
	}
	age := e.cfg.Clock().Sub(time.UnixMilli(int64(binary.BigEndian.Uint64(form))))
	if age > pageFormLife || age < -pageFormSkew {
		return shown, ErrPageForm
	}
	copy(shown[:], form[formTime:])
	return shown, nil
}
