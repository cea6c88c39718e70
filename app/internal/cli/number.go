package cli

import "strconv"

func number[T ~int | ~int64](n T) string { return strconv.FormatInt(int64(n), 10) }

// positive is a number that is more than none.
func positive[T ~int | ~int64](n T) string {
	if n <= 0 {
		return ""
	}
	return number(n)
}

func ago(age string) string {
	if age == "now" {
		return "just now"
	}
	return age + " ago"
}
