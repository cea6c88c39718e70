package canon

const (
	defaultMaxBytes = 256 << 10
	defaultMaxDepth = 64

	// maxLiteral, maxDigits and maxExponent bound a number so that later
	// arithmetic on it is cheap, whatever library does it.
	maxLiteral  = 1024
	maxDigits   = 128
	maxExponent = 308

	// madeMaxBytes is the size allowed to a payload that code made. It is only
	// there to keep one mistake from filling the history; the door's limit is
	// for strangers.
	madeMaxBytes = 4 << 20
)

// Limits are the form limits of a payload that a deployment may choose. A
// value of zero or less stands for the default of that field.
type Limits struct {
	MaxBytes int // bytes as received; default 256 KiB
	MaxDepth int // nesting: a scalar is 0, each array or object adds 1; default 64
}

// DefaultLimits are the limits that the zero Limits stands for.
var DefaultLimits = Limits{MaxBytes: defaultMaxBytes, MaxDepth: defaultMaxDepth}

// orDefault replaces what is not set. It reads the constants, so that nobody
// changes the zero value's meaning by assigning to DefaultLimits.
func (l Limits) orDefault() Limits {
	if l.MaxBytes <= 0 {
		l.MaxBytes = defaultMaxBytes
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = defaultMaxDepth
	}
	return l
}
