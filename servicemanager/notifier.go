package servicemanager

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/sluiceproxy/sluice/telemetry"
)

// sendLimit is how long a service manager whose queue is full is waited for.
const sendLimit = 5 * time.Second

// Notifier sends states to the service manager. A state that cannot be sent is logged: the service manager may stop the
// process because of it. The methods may be called from any goroutine.
type Notifier struct{ logger telemetry.Logger }

// New returns a Notifier.
func New(logger telemetry.Logger) *Notifier { return &Notifier{logger: logger} }

// Ready says that the start, or a reload since Reloading, has ended.
func (n *Notifier) Ready() { n.send(daemon.SdNotifyReady) }

// Reloading says that the configuration is read again, until Ready.
func (n *Notifier) Reloading() { n.send(append([]string{daemon.SdNotifyReloading}, monotonic()...)...) }

// Main says which process is the main one of the unit from now on: this one has handed over to it. States of that
// process are taken then, and no longer those of this one. The service manager refuses a process that is not of the
// unit.
func (n *Notifier) Main(pid int) { n.send("MAINPID=" + strconv.Itoa(pid)) }

// Stopping says that the process drains and ends.
func (n *Notifier) Stopping() { n.send(daemon.SdNotifyStopping) }

// send sends one message of assignments, and logs the first of them when that fails.
func (n *Notifier) send(assignments ...string) {
	if err := deliver(strings.Join(assignments, "\n"), nil); err != nil {
		n.logger.Warn("the service manager is not notified", "state", assignments[0], "error", err)
	}
}

// deliver sends a message to the service manager by send, if there is one; nil writes the message alone.
// daemon.SdNotify has no time-out.
func deliver(message string, send func(conn *net.UnixConn, message []byte) error) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // What was written is in the queue of the other end.
	if err := conn.SetWriteDeadline(time.Now().Add(sendLimit)); err != nil {
		return err
	}
	if send != nil {
		return send(conn, []byte(message))
	}
	_, err = conn.Write([]byte(message))
	return err
}
