package spec

import "strings"

// minTokenBody is how many letters and digits after a token's prefix make a text one, whole or cut off: as many as the
// shortest token has.
const minTokenBody = 22

// CheckNoToken refuses a text that holds a hook token, or most of one: fh, a letter, an underscore and 22 letters or
// digits, in any case. What names things is stored, listed, logged and sent to the database as it is, and a token must
// not be. Tokens of a host's own making are not recognised. The error is an *InvalidError that names the field.
func CheckNoToken(field, text string) error {
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '_')
		if next < 0 {
			return nil
		}
		at += next
		if endsLikePrefix(text[:at]) && beginsLikeBody(text[at+1:]) {
			return &InvalidError{Field: field, Rule: "must not hold a hook token"}
		}
	}
}

// endsLikePrefix says whether fh and a letter end a text.
func endsLikePrefix(text string) bool {
	n := len(text)
	return n >= 3 && lower(text[n-3]) == 'f' && lower(text[n-2]) == 'h' && isLetter(text[n-1])
}

func beginsLikeBody(text string) bool {
	if len(text) < minTokenBody {
		return false
	}
	for i := range minTokenBody {
		if !isLetter(text[i]) && (text[i] < '0' || text[i] > '9') {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }

// lower makes an ASCII letter a small one.
func lower(c byte) byte { return c | 0x20 }
