package release

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// all reports whether the release is made for all platforms.
func all() bool { return os.Getenv("TEST_RELEASE") == "all" }
