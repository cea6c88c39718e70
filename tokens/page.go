package tokens

import (
	"crypto/hmac"
	"crypto/sha256"
)

// PageBinding is the approval page a token opens: that of one hook for one person.
type PageBinding struct {
	Binding
	Recipient string
}

// MintPage makes the token of a page with the current mint key: "fha_" and the
// form of a hook's token. Like that it is a function of the key, the binding and
// the nonce. It opens the page and does nothing else.
func (k *Keyring) MintPage(b PageBinding, n Nonce) Minted {
	current := k.mint[0]
	return Minted{Token: current.page(b, n), KeyID: current.id, Nonce: n}
}

// RemintPage makes a page's token again that was minted earlier under keyID.
// Without that key the error wraps ErrKeyUnknown.
func (k *Keyring) RemintPage(keyID string, b PageBinding, n Nonce) (Secret, error) {
	key, err := find(MintSet, k.mint, keyID)
	if err != nil {
		return Secret{}, err
	}
	return key.page(b, n), nil
}

func (k loadedKey) page(b PageBinding, n Nonce) Secret {
	return render(pagePre, k.sum(usePage, []byte(b.Namespace), []byte(b.RunID), []byte(b.HookID), []byte(b.Recipient), n[:]))
}

// ParsePage reads what a caller presents as the token of a page. Everything that
// MintPage cannot have made, the token of a hook as well, is ErrMalformed and
// needs no look-up.
func ParsePage(text string) (Secret, error) { return parseOurs(pagePre, text) }

// FormSum proves that a form is one of ours: a keyed sum, under the current mint
// key, of what the form is bound to.
func (k *Keyring) FormSum(parts ...[]byte) [sha256.Size]byte { return k.mint[0].sum(useForm, parts...) }

// IsFormSum says whether sum is that of the parts under any loaded mint key, in a
// time that does not depend on how wrong it is.
func (k *Keyring) IsFormSum(sum []byte, parts ...[]byte) bool {
	ours := false
	for _, key := range k.mint {
		want := key.sum(useForm, parts...)
		ours = hmac.Equal(sum, want[:]) || ours
	}
	return ours
}
