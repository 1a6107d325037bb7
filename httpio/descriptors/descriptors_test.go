package descriptors_test

import (
	"errors"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

// bare is a connection without a descriptor.
type bare struct{}

func (bare) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }

// TestWithoutDescriptor admits what has none, and everything without a reserve.
func TestWithoutDescriptor(t *testing.T) {
	if !descriptors.New(16).Admits(bare{}) {
		t.Error("a connection without a descriptor is refused")
	}
	none := descriptors.New(0)
	if !none.Admits(bare{}) || none.Control("tcp", "192.0.2.1:80", nil) != nil || none.Reserve() != 0 {
		t.Error("there is a reserve of none")
	}
}
