package canon

import (
	"bytes"
	"strconv"
)

// number reads a number and writes its canonical form: its significant digits
// as an integer, then e and a power of ten if that is not zero.
func (s *scanner) number() error {
	from := s.pos
	whole, fraction, exponent, ok := s.literal()
	if !ok {
		return s.refuse(ruleSyntax)
	}
	if s.pos-from > maxLiteral {
		return s.refuse(ruleLiteral)
	}
	start := len(s.out)
	if s.src[from] == '-' {
		s.out = append(s.out, '-')
	}
	digits := len(s.out)
	s.out = append(append(s.out, whole...), fraction...)
	trimmed := bytes.Trim(s.out[digits:], "0")
	if len(trimmed) == 0 {
		// Zero has no scientific form, so the exponent as written counts: other
		// libraries choke on one of twenty digits.
		if exponent < -maxExponent || exponent > maxExponent {
			return s.refuse(ruleExponent)
		}
		s.out = append(s.out[:start], '0') // -0 is 0
		return nil
	}
	if len(trimmed) > maxDigits {
		return s.refuse(ruleDigits)
	}
	power := exponent - len(fraction) + len(s.out[digits:]) - len(bytes.TrimRight(s.out[digits:], "0"))
	if scientific := power + len(trimmed) - 1; scientific < -maxExponent || scientific > maxExponent {
		return s.refuse(ruleExponent)
	}
	s.out = append(s.out[:digits], trimmed...)
	if power != 0 {
		s.out = strconv.AppendInt(append(s.out, 'e'), int64(power), 10)
	}
	return nil
}

// literal reads the grammar of a number (RFC 8259, section 6) and returns its
// parts: the digits before and after the point, and the written exponent.
func (s *scanner) literal() (whole, fraction []byte, exponent int, ok bool) {
	if s.peek() == '-' {
		s.pos++
	}
	whole = s.digits()
	if len(whole) == 0 || len(whole) > 1 && whole[0] == '0' {
		return nil, nil, 0, false
	}
	if s.peek() == '.' {
		s.pos++
		if fraction = s.digits(); len(fraction) == 0 {
			return nil, nil, 0, false
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.pos++
		if exponent, ok = s.exponent(); !ok {
			return nil, nil, 0, false
		}
	}
	return whole, fraction, exponent, true
}

// exponent reads the part after e. Its size is cut off far outside what the
// digits of an allowed literal can bring back into range.
func (s *scanner) exponent() (int, bool) {
	const farOut = 1 << 20
	sign := 1
	switch s.peek() {
	case '-':
		sign = -1
		s.pos++
	case '+':
		s.pos++
	}
	ds := s.digits()
	n := 0
	for _, d := range ds {
		n = min(10*n+int(d-'0'), farOut)
	}
	return sign * n, len(ds) > 0
}

// digits reads a run of decimal digits, which may be empty.
func (s *scanner) digits() []byte {
	from := s.pos
	for s.pos < len(s.src) && '0' <= s.src[s.pos] && s.src[s.pos] <= '9' {
		s.pos++
	}
	return s.src[from:s.pos]
}
