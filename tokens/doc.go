// Package tokens makes, reads and hides the bearer secrets of hooks.
//
// It owns the text form of a hook token, its derivation from a mint key, the
// keyed digest that is stored in its place, and the ways to keep a secret out
// of whatever is printed. Two sets of keys belong to it: mint keys make tokens,
// digest keys look them up.
//
// A minted token is "fhk_", 43 base62 characters that hold 256 bits, and 6
// base62 characters of CRC-32 over all before them: 53 characters that a double
// click selects, that a secret scanner recognises by
//
//	fhk_[0-9A-Za-z]{49}
//
// and that are refused without a look-up when a mail client mangled them. The
// checksum is a filter and protects nothing. A host may supply a token of its
// own instead: 22 to 128 of [0-9A-Za-z_-], not in a minted form.
//
// The package is pure: randomness comes in as a reader, nothing reads a clock.
// It knows nothing of storage, HTTP or the states of a hook.
package tokens
