package page

import (
	"math"
	"regexp"
	"strconv"
)

var colourRule = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// coloursOf reads the first definition of each colour; a colour that is not there has no contrast to anything.
func coloursOf(css string) map[string]uint64 {
	found := map[string]uint64{}
	for _, m := range colourRule.FindAllStringSubmatch(css, -1) {
		if _, twice := found[m[1]]; !twice {
			found[m[1]], _ = strconv.ParseUint(m[2], 16, 32)
		}
	}
	return found
}

// contrast is the ratio of WCAG 2.2.
func contrast(a, b uint64) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(rgb uint64) float64 {
	part := func(shift int) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}
