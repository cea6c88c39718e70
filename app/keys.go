package app

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/flowgate-go/flowgate/tokens"
)

// keySettings hold the two sets of keys that hook tokens are made and looked up with. The first of a set is the current
// one; the others serve what they made before.
type keySettings struct {
	MintKeys     string `setting:"FLOWGATE_MINT_KEYS" placeholder:"ID:BASE64,…" otherwise:"none; dev makes its own and keeps them" help:"Keys that make hook tokens, the current one first; each 32 random bytes or more."`
	MintKeysFile string `setting:"FLOWGATE_MINT_KEYS_FILE" placeholder:"PATH" help:"File that holds them instead, one a line."`
	digestKeySettings
}

// digestKeySettings hold the keys that hook tokens and API keys are looked up with.
type digestKeySettings struct {
	DigestKeys     string `setting:"FLOWGATE_DIGEST_KEYS" placeholder:"ID:BASE64,…" otherwise:"none; dev makes its own and keeps them" help:"Keys that hook tokens and API keys are looked up with, the current one first; each 32 random bytes or more."`
	DigestKeysFile string `setting:"FLOWGATE_DIGEST_KEYS_FILE" placeholder:"PATH" help:"File that holds them instead, one a line."`
}

// signKeySettings hold the keys that short-lived tokens of our own are signed with. The first one signs, all verify.
type signKeySettings struct {
	SignKeys     string `setting:"FLOWGATE_SIGN_KEYS" placeholder:"ID:BASE64,…" otherwise:"none; dev makes its own and keeps them" help:"Keys that sign what POST /v1/token gives out, the current one first; each an Ed25519 seed of 32 random bytes."`
	SignKeysFile string `setting:"FLOWGATE_SIGN_KEYS_FILE" placeholder:"PATH" help:"File that holds them instead, one a line."`
}

const (
	settingMintKeys   = "FLOWGATE_MINT_KEYS"
	settingDigestKeys = "FLOWGATE_DIGEST_KEYS"
	settingSignKeys   = "FLOWGATE_SIGN_KEYS"
	fileSuffix        = "_FILE"
)

// howToMakeKeys ends the refusal of a missing set.
const howToMakeKeys = `: give at least one key as id:base64, such as k1:$(openssl rand -base64 32), the same in every process`

// given says whether any key is set.
func (s keySettings) given() bool { return s != (keySettings{}) }

// keyring loads both sets. Refusals name the setting and the position, never the text.
func (s keySettings) keyring() (*tokens.Keyring, error) {
	mint, err := readKeys(settingMintKeys, s.MintKeys, s.MintKeysFile)
	if err != nil {
		return nil, err
	}
	digest, err := readKeys(settingDigestKeys, s.DigestKeys, s.DigestKeysFile)
	if err != nil {
		return nil, err
	}
	ring, err := tokens.NewKeyring(mint.keys, digest.keys)
	if refused, ok := errors.AsType[*tokens.KeyError](err); ok && refused.Set == tokens.DigestSet {
		return nil, digest.refusal(err)
	}
	return ring, mint.refusal(err)
}

// digester loads the keys of API keys alone.
func (s digestKeySettings) digester() (*tokens.Digester, error) {
	set, err := readKeys(settingDigestKeys, s.DigestKeys, s.DigestKeysFile)
	if err != nil {
		return nil, err
	}
	digester, err := tokens.NewDigester(set.keys)
	return digester, set.refusal(err)
}

// given says whether any key is set.
func (s signKeySettings) given() bool { return s != (signKeySettings{}) }

// signKeys loads the keys that sign.
func (s signKeySettings) signKeys() (*tokens.SignKeys, error) {
	set, err := readKeys(settingSignKeys, s.SignKeys, s.SignKeysFile)
	if err != nil {
		return nil, err
	}
	keys, err := tokens.NewSignKeys(set.keys)
	return keys, set.refusal(err)
}

// keySet is what a setting or the file it names holds.
type keySet struct {
	setting string // where the keys are from
	keys    []tokens.Key
}

// refusal names the setting that a *tokens.KeyError is about, and leaves other errors as they are.
func (s keySet) refusal(err error) error {
	if refused, ok := errors.AsType[*tokens.KeyError](err); ok {
		return setting(s.setting, fmt.Sprintf("key %d: %s", refused.Index+1, refused.Rule))
	}
	return err
}

func readKeys(name, text, path string) (keySet, error) {
	switch {
	case text != "" && path != "":
		return keySet{}, setting(name, "is set beside "+name+fileSuffix+": keep one of them")
	case text == "" && path == "":
		return keySet{}, setting(name, "is not set"+howToMakeKeys)
	case path != "":
		name += fileSuffix
		content, err := os.ReadFile(path)
		if err != nil {
			return keySet{}, setting(name, fmt.Sprintf("cannot be read: %v", err))
		}
		text = string(content)
	}
	keys, err := parseKeys(name, text)
	return keySet{setting: name, keys: keys}, err
}

// parseKeys takes "id:base64" entries apart, which commas or line ends separate.
func parseKeys(name, text string) ([]tokens.Key, error) {
	entries := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '\n' || r == '\r' })
	var keys []tokens.Key
	for _, entry := range entries {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		id, encoded, found := strings.Cut(entry, ":")
		secret, err := decodeSecret(encoded)
		if !found || err != nil {
			return nil, setting(name, fmt.Sprintf("key %d is not of the form id:base64", len(keys)+1))
		}
		keys = append(keys, tokens.Key{ID: id, Secret: secret})
	}
	if len(keys) == 0 {
		return nil, setting(name, "holds no key"+howToMakeKeys)
	}
	return keys, nil
}

// decodeSecret reads base64 of either alphabet (RFC 4648 sections 4 and 5), padded or not.
func decodeSecret(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.Strict().DecodeString(text)
}
