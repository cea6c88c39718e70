// Package report collects figures and tells them: as a table with ratios and targets, and as one JSON object. It
// measures nothing.
package report
