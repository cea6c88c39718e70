// Package canon decides what a payload is and when two payloads are equal.
//
// It owns the checks every payload passes at the door (RFC 8259 in its strict
// reading, I-JSON's ban on duplicate keys and lone surrogates, limits on size,
// depth and numbers), one canonical form for each JSON value, and the digest
// of that form. Two payloads are equal when they are the same JSON value: key
// order, white space, escapes and the spelling of numbers do not matter, array
// order does, and null is not the same as absent. Numbers are compared as
// written, never through floating point.
//
// The canonical form resembles RFC 8785 and differs from it in two places,
// because RFC 8785 rounds numbers to doubles: a number is an integer without
// trailing zeros followed by a power of ten where that is not zero (100 is
// 1e2, 1.50 is 15e-1), and members are sorted by the bytes of their unescaped
// UTF-8 keys. It is made to be hashed, not to be read.
//
// The package is pure. It knows nothing of runs, signals, schemas, storage or
// HTTP.
package canon
