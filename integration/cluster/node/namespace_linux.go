package node

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// link connects two network namespaces. Arguments: the name of the interface here, the path of the other namespace, the
// addresses of both ends with the length of their prefix, and the address here.
const link = `set -e
ip link add "$1" type veth peer name eth0 netns "$2"
ip address add "$3" dev "$1"
ip link set "$1" up
nsenter --net="$2" sh -ec '
  ip link set lo up
  ip address add "$1" dev eth0
  ip link set eth0 up
  ip route add default via "$2"' sh "$4" "$5"`

// namespace is a network namespace, which lives as long as its file is open.
type namespace struct {
	file *os.File
	link string
}

// newNamespace makes a namespace with a link to this one.
func newNamespace(name string, near, far netip.Prefix) (*namespace, error) {
	n := &namespace{link: name}
	if err := apartFrom(func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			n.file, err = os.Open(current())
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	command := exec.Command("sh", "-c", link, "sh", //nolint:noctx // It ends by itself.
		name, n.path(), near.String(), far.String(), near.Addr().String())
	if output, err := command.CombinedOutput(); err != nil {
		_ = n.close()
		return nil, fmt.Errorf("network namespace: %w: %s", err, output)
	}
	return n, nil
}

// path is that of the namespace for other processes.
func (n *namespace) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

// within calls a function in the namespace, where sockets that it opens stay.
func (n *namespace) within(do func()) error {
	return apartFrom(func() error {
		err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			do()
		}
		return err
	})
}

// apartFrom calls a function that changes the network namespace of its thread, and restores that. The thread must not
// end: the children that it has started would.
func apartFrom(do func() error) error {
	runtime.LockOSThread()
	own, err := os.Open(current())
	if err == nil {
		defer own.Close() //nolint:errcheck // It was only read.
		err = do()
	}
	if own != nil {
		if failed := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); failed != nil {
			return errors.Join(err, failed) // The thread stays locked, and is of no use any more.
		}
	}
	runtime.UnlockOSThread()
	return err
}

// current is the path of the network namespace of this thread.
func current() string { return fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()) }

// close removes the link, which the kernel would do later than the name can be used again.
func (n *namespace) close() error {
	_ = exec.Command("ip", "link", "delete", n.link).Run() //nolint:noctx // It may never have been there.
	return n.file.Close()
}
