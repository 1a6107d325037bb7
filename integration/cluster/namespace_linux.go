package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// loopback is the index of lo, which every namespace has.
const loopback = 1

// enter runs this program again in a network namespace of its own, with variables added to its environment. It returns
// only on failure, with errDenied if it is not permitted.
func enter(variables ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // The namespace belongs to the thread until the new program starts.
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("%w: %w", errDenied, err)
	}
	if err := furnish(); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, os.Args, append(os.Environ(), variables...)))
}

// furnish starts lo and makes every address of the ranges local.
func furnish() error {
	link := binary.NativeEndian.AppendUint32(make([]byte, 4), loopback) // ifinfomsg of rtnetlink(7)
	link = binary.NativeEndian.AppendUint32(link, syscall.IFF_UP)
	link = binary.NativeEndian.AppendUint32(link, syscall.IFF_UP)
	if err := netlink(syscall.RTM_NEWLINK, 0, link); err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	for _, text := range ranges() {
		prefix := netip.MustParsePrefix(text)
		err := netlink(syscall.RTM_NEWROUTE, syscall.NLM_F_CREATE, localRoute(prefix))
		if prefix.Addr().Is6() && errors.Is(err, syscall.EOPNOTSUPP) {
			continue // kernel without IPv6
		}
		if err != nil {
			return fmt.Errorf("route to %s: %w", prefix, err)
		}
	}
	// Required to listen on IPv6 addresses of such a route. If it fails, pods have IPv4 only.
	_ = os.WriteFile("/proc/sys/net/ipv6/ip_nonlocal_bind", []byte("1"), 0)
	return nil
}

// localRoute is the rtmsg of a route that makes a range local.
func localRoute(prefix netip.Prefix) []byte {
	family := byte(syscall.AF_INET)
	if prefix.Addr().Is6() {
		family = syscall.AF_INET6
	}
	route := []byte{
		family, byte(prefix.Bits()), 0, 0,
		unix.RT_TABLE_LOCAL, unix.RTPROT_BOOT, unix.RT_SCOPE_HOST, unix.RTN_LOCAL,
		0, 0, 0, 0,
	}
	route = appendAttribute(route, unix.RTA_DST, prefix.Addr().AsSlice())
	return appendAttribute(route, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, loopback))
}

func appendAttribute(message []byte, kind uint16, value []byte) []byte {
	message = binary.NativeEndian.AppendUint16(message, uint16(4+len(value)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	return append(message, value...) // Addresses and indexes are multiples of four bytes, so there is no padding.
}

// netlink sends one request to the kernel by netlink(7) and returns its answer.
func netlink(kind, flags uint16, body []byte) error {
	socket, err := syscall.Socket(syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer syscall.Close(socket) //nolint:errcheck // nothing is lost
	kernel := &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}
	if err := syscall.Bind(socket, kernel); err != nil {
		return err
	}
	message := binary.NativeEndian.AppendUint32(nil, uint32(syscall.NLMSG_HDRLEN+len(body)))
	message = binary.NativeEndian.AppendUint16(message, kind)
	message = binary.NativeEndian.AppendUint16(message, syscall.NLM_F_REQUEST|syscall.NLM_F_ACK|flags)
	message = append(message, make([]byte, 8)...) // sequence and port
	if err := syscall.Sendto(socket, append(message, body...), 0, kernel); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := syscall.Recvfrom(socket, answer, 0)
	if err != nil {
		return err
	}
	if n < syscall.NLMSG_HDRLEN+4 {
		return errors.New("the kernel's answer is cut off")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[syscall.NLMSG_HDRLEN:])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}
