package servicemanager

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxName is the length in bytes of the longest name of an entrypoint whose sockets systemd keeps: its limit is 255.
const maxName = 255 - len("/tcp")

// Store has the service manager keep a socket until the unit is stopped: connections wait in its queue while the
// process is restarted, and the Sockets of the next process have it under the name. Network is tcp or udp. It does
// nothing unless the service manager keeps sockets: then FDSTORE in the environment is their number at most
// (FileDescriptorStoreMax= of the unit, since systemd 254).
func (n *Notifier) Store(name, network string, socket syscall.Conn) {
	if number, err := strconv.Atoi(os.Getenv("FDSTORE")); err != nil || number <= 0 {
		return
	}
	if err := store(name, network, socket); err != nil {
		n.logger.Warn("the service manager does not keep a socket", "name", name, "network", network, "error", err)
	}
}

// Forget has the service manager close sockets that Store has sent, by the names that Select and StoredName return. It
// does not wait for that. Names that Store refuses are left out.
func (n *Notifier) Forget(stored ...string) {
	for _, name := range stored {
		if at := strings.LastIndexByte(name, '/'); at < 0 || !storable(name[:at]) {
			continue
		}
		n.send("FDSTOREREMOVE=1", "FDNAME="+name)
	}
}

// store sends a socket. FDPOLL=0 keeps those that report an error, as UDP sockets do because of an ICMP message.
func store(name, network string, socket syscall.Conn) error {
	if !storable(name) {
		return errors.New("its name has more than 251 bytes, a colon, or characters other than those of ASCII")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { // The descriptor is not closed meanwhile, and stays non-blocking.
		message := fmt.Sprintf("FDSTORE=1\nFDNAME=%s\nFDPOLL=0", StoredName(name, network))
		failed = deliver(message, func(conn *net.UnixConn, message []byte) error {
			return sendDescriptor(conn, message, int(fd))
		})
	})
	return errors.Join(err, failed)
}

// sendDescriptor sends a message with a file descriptor on a connected socket, for which net.UnixConn.WriteMsgUnix is
// not made.
func sendDescriptor(conn *net.UnixConn, message []byte, descriptor int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		for failed = unix.EINTR; errors.Is(failed, unix.EINTR); {
			failed = unix.Sendmsg(int(fd), message, unix.UnixRights(descriptor), nil, unix.MSG_NOSIGNAL)
		}
		return !errors.Is(failed, unix.EAGAIN)
	})
	return errors.Join(err, os.NewSyscallError("sendmsg", failed))
}

// storable reports whether systemd accepts a name.
func storable(name string) bool {
	return name != "" && len(name) <= maxName &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' || r == ':' })
}
