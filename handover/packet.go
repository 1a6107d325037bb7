package handover

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// errEnded is the error of a connection whose other end is closed.
var errEnded = errors.New("the other process has closed the connection")

// packetConn sends and receives messages.
type packetConn struct {
	unix *net.UnixConn
	// answer bounds how long sending takes.
	answer time.Duration
	// buffer and control are those of receive.
	buffer  []byte
	control []byte
}

func newPacketConn(unix *net.UnixConn, answer time.Duration) *packetConn {
	return &packetConn{
		unix: unix, answer: answer,
		buffer: make([]byte, maxMessageBytes), control: make([]byte, controlBytes(maxDescriptors)),
	}
}

// send sends a message with descriptors, which stay the caller's.
func (c *packetConn) send(m *message, descriptors ...int) error {
	packet, err := m.encode()
	if err != nil {
		return err
	}
	if err := c.unix.SetWriteDeadline(time.Now().Add(c.answer)); err != nil {
		return ended(err)
	}
	var control []byte
	if len(descriptors) > 0 {
		control = rights(descriptors)
	}
	if _, _, err := c.unix.WriteMsgUnix(packet, control, nil); err != nil {
		return fmt.Errorf("sending %s: %w", m.Type, ended(err))
	}
	return nil
}

// receive returns the next message with its descriptors, which are the caller's then. refuse is a RefusedError.
func (c *packetConn) receive(within time.Duration) (*message, []int, error) {
	m, descriptors, err := c.read(within)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case m.Type == typeRefuse:
		err = &RefusedError{Reason: m.Reason}
	case m.Type == typeSockets && len(descriptors) != len(m.Sockets):
		err = fmt.Errorf("a message has %d sockets and %d descriptors", len(m.Sockets), len(descriptors))
	case m.Type != typeSockets && len(descriptors) > 0:
		err = fmt.Errorf("a message of type %s has descriptors", m.Type)
	}
	if err != nil {
		closeDescriptors(descriptors)
		return nil, nil, err
	}
	return m, descriptors, nil
}

// read returns the next message, whatever it is.
func (c *packetConn) read(within time.Duration) (*message, []int, error) {
	if err := c.unix.SetReadDeadline(time.Now().Add(within)); err != nil {
		return nil, nil, ended(err)
	}
	n, controlled, flags, _, err := c.unix.ReadMsgUnix(c.buffer, c.control)
	if errors.Is(err, syscall.ECONNRESET) {
		// The other end was closed before it had read everything. What it has sent before can still be read.
		n, controlled, flags, _, err = c.unix.ReadMsgUnix(c.buffer, c.control)
	}
	if err != nil {
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("no message within %v: %w", within.Round(time.Millisecond), os.ErrDeadlineExceeded)
		}
		return nil, nil, ended(err)
	}
	descriptors, err := descriptorsOf(c.control[:controlled], flags)
	if err != nil {
		return nil, nil, err
	}
	if truncated(flags) {
		closeDescriptors(descriptors)
		return nil, nil, fmt.Errorf("a message has more than %d bytes", maxMessageBytes)
	}
	m, err := parse(c.buffer[:n])
	if err != nil {
		closeDescriptors(descriptors)
		return nil, nil, err
	}
	return m, descriptors, nil
}

// expect returns the next message, which must have a type.
func (c *packetConn) expect(wanted messageType, within time.Duration) (*message, error) {
	m, descriptors, err := c.receive(within)
	if err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", wanted, err)
	}
	if m.Type != wanted {
		closeDescriptors(descriptors)
		return nil, fmt.Errorf("waiting for %s: a message of type %s came", wanted, m.Type)
	}
	return m, nil
}

// ended returns errEnded in place of an error that means it.
func ended(err error) error {
	for _, cause := range []error{io.EOF, syscall.ECONNRESET, syscall.EPIPE, net.ErrClosed} {
		if errors.Is(err, cause) {
			return errEnded
		}
	}
	return err
}
