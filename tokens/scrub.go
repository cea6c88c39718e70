package tokens

import (
	"bytes"
	"io"
)

// minScrubbed is how many characters after a prefix make a token of ours worth
// hiding: also a token that was cut off on its way into a log.
const minScrubbed = 8

var (
	jwtStart    = []byte("eyJ")
	jwtContinue = []byte(".eyJ")
)

// Scrub replaces what looks like a secret in b with [redacted]: tokens with one
// of our prefixes, fh[A-Za-z]_[0-9A-Za-z]{8,} and fge_[0-9A-Za-z]{8,}, and
// JWTs, eyJ….eyJ… to their end. It is the last line of defence of a log and cannot know host-supplied
// tokens. It returns b itself if there is nothing to hide, and never changes b.
// The time is linear in len(b).
func Scrub(b []byte) []byte {
	// Both forms lie in a run of URL-safe characters, where nearly all text ends
	// after a word.
	var out []byte
	kept := 0 // b[:kept] is in out already
	for i := 0; i < len(b); {
		if !isURLSafe(b[i]) {
			i++
			continue
		}
		end := run(b, i, isURLSafe)
		at := bytes.Index(b[i:end], jwtStart)
		isJWT := at >= 0 && bytes.HasPrefix(b[end:], jwtContinue)
		word := b[i:end]
		if isJWT {
			word = b[i : i+at]
		}
		out, kept = scrubTokens(b, i, i+len(word), out, kept)
		if isJWT {
			out = append(append(out, b[kept:i+at]...), Redacted...)
			end = run(b, end, isJWTByte)
			kept = end
		}
		i = end
	}
	if kept == 0 {
		return b
	}
	return append(out, b[kept:]...)
}

// scrubTokens hides our tokens in the word b[i:end].
func scrubTokens(b []byte, i, end int, out []byte, kept int) ([]byte, int) {
	for i < end {
		at := bytes.IndexByte(b[i:end], 'f')
		if at < 0 {
			break
		}
		i += at
		body := i + len(prefix)
		if body > end || !hasOurPrefix(string(b[i:body])) {
			i++
			continue
		}
		last := run(b[:end], body, isAlphanumeric)
		if last-body < minScrubbed {
			i++
			continue
		}
		out = append(append(out, b[kept:i]...), Redacted...)
		i, kept = last, last
	}
	return out, kept
}

// run returns the end of the bytes of the class that start at i.
func run(b []byte, i int, class func(byte) bool) int {
	for i < len(b) && class(b[i]) {
		i++
	}
	return i
}

func isJWTByte(c byte) bool { return isURLSafe(c) || c == '.' }

// ScrubWriter returns a writer that scrubs every Write on its own before it
// passes it to w, which suits loggers: they write a line at a time. A secret
// that is split over two writes passes. It reports the lengths of what was
// given to it, and is as safe for concurrent use as w is.
func ScrubWriter(w io.Writer) io.Writer { return scrubWriter{w} }

type scrubWriter struct{ w io.Writer }

// Write implements io.Writer.
func (s scrubWriter) Write(p []byte) (int, error) {
	clean := Scrub(p)
	n, err := s.w.Write(clean)
	if err != nil {
		// What part of p a part of the clean text stands for is unknown.
		return min(n, len(p)), err
	}
	if n < len(clean) {
		return min(n, len(p)), io.ErrShortWrite
	}
	return len(p), nil
}
