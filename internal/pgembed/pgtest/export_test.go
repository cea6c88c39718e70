package pgtest

// Names for the tests outside the package.
var (
	NameOf = prefix
	Sweep  = sweep
)
