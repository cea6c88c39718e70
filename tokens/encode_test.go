package tokens

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The body of a token is its number in base62, by the arithmetic of math/big, however small or large the number is.
func TestEncodeBody_is_the_number_in_base62(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var number [32]byte
		used := rapid.IntRange(0, 32).Draw(t, "bytes")
		digit := rapid.OneOf(rapid.Byte(), rapid.Just(byte(0xff)), rapid.Just(byte(0)))
		copy(number[32-used:], rapid.SliceOfN(digit, used, used).Draw(t, "number"))
		var got [bodyLen]byte
		encodeBody(got[:], number)
		n := new(big.Int)
		for _, c := range got {
			n.Add(n.Mul(n, big.NewInt(62)), big.NewInt(int64(strings.IndexByte(base62, c))))
		}
		if n.Cmp(new(big.Int).SetBytes(number[:])) != 0 {
			t.Fatalf("%x in base62 is %s, which is %x", number, got, n)
		}
	})
}
