// Package page draws the pages that people decide on, as HTML: from plain values, escaped, without scripts, for a phone, a
// keyboard and a screen reader. It must not know engines, hooks, tokens or HTTP.
package page
