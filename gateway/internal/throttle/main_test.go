package throttle_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Nothing here has a goroutine when it is made and used: whoever drops it has stopped it.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
