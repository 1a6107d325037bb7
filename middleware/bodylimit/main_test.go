package bodylimit

import (
	"io"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onlyReader hides how long a body is.
type onlyReader struct{ io.Reader }
