package forward_test

import (
	"io"
	"log"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// net/http's transport reports what endpoints do wrong to the standard logger.
	log.SetOutput(io.Discard)
	goleak.VerifyTestMain(m)
}
