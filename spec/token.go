package spec

import "strings"

// minTokenBody is how many letters and digits after a token's prefix make a text one: all but its check sum. Less of a
// token opens nothing, and random texts would be taken for one by chance.
const minTokenBody = 43

// CheckNoToken refuses a text that holds a minted hook token or an API key: fge, or fh and a small letter, and an
// underscore, where a word begins, and 43 letters or digits. What names things is stored, listed, logged and sent to the database as it is, and a token
// must not be. An ID of up to 46 characters is never refused, a random one that is longer less than once in a million.
// Tokens of a host's own making are not recognised. The error is an *InvalidError that names the field.
func CheckNoToken(field, text string) error {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '_')
		if next < 0 {
			return nil
		}
		at += next
		if endsLikePrefix(text[:at]) && beginsLikeBody(text[at+1:]) {
			return &InvalidError{Field: field, Rule: "must not hold a hook token or an API key"}
		}
	}
}

// endsLikePrefix says whether fge, or fh and a small letter, as a word of their own, end a text.
func endsLikePrefix(text string) bool {
	n := len(text)
	if n < 3 || text[n-3] != 'f' {
		return false
	}
	ofHook := text[n-2] == 'h' && 'a' <= text[n-1] && text[n-1] <= 'z'
	if !ofHook && text[n-3:] != "fge" {
		return false
	}
	return n == 3 || !isAlphanumeric(text[n-4])
}

func beginsLikeBody(text string) bool {
	if len(text) < minTokenBody {
		return false
	}
	for i := range minTokenBody {
		if !isAlphanumeric(text[i]) {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
