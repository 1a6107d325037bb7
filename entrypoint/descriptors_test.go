package entrypoint_test

import (
	"context"
	"math"
	"net"
	"net/http"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

// numbered is a connection in memory that has the number of a descriptor.
type numbered struct {
	net.Conn
	descriptor descriptor
}

func (n numbered) SyscallConn() (syscall.RawConn, error) { return n.descriptor, nil }

// descriptor is a number that belongs to no file.
type descriptor struct {
	syscall.RawConn
	fd uintptr
}

func (d descriptor) Control(f func(fd uintptr)) error {
	f(d.fd)
	return nil
}

// TestReservedDescriptors refuses connections whose descriptors are in reserve, and takes no token for them.
func TestReservedDescriptors(t *testing.T) {
	limit := descriptors.New(8)
	if limit == nil {
		t.Skip("missing tool: a limit of file descriptors")
	}
	synctest.Test(t, func(t *testing.T) {
		counter := &refusals{}
		listener := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		s := startDeps(t, http.HandlerFunc(hello), nil, func(deps *entrypoint.Dependencies) {
			deps.Refusals, deps.Descriptors = counter, limit
			deps.Listen = func(context.Context, string, string) (net.Listener, error) { return listener, nil }
		})
		for fd, want := range map[uintptr]int{3: http.StatusOK, math.MaxInt32: 0} {
			ours, theirs := net.Pipe()
			listener.conns <- numbered{Conn: theirs, descriptor: descriptor{fd: fd}}
			if _, status := request(ours, get); status != want {
				t.Errorf("descriptor %d: status %d", fd, status)
			}
			_ = ours.Close()
		}
		s.logged("connections refused: only the file descriptors in reserve are left (descriptors.reserve)")
		if diff := cmp.Diff(map[string]int{"descriptors": 1}, counter.counted()); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	})
}
