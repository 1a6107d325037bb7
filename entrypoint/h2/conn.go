package h2

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/entrypoint/heads"
	"github.com/sluiceproxy/sluice/httpio"
)

const (
	// headerBytes is the size of a frame's header (RFC 9113, section 4.1).
	headerBytes = 9
	// lastStream is the largest stream identifier: GOAWAY with it leaves open which streams have been processed.
	lastStream = 1<<31 - 1
	// calmTime bounds how long GOAWAY may take, and then how long the connection is read for the client to see it.
	calmTime = 500 * time.Millisecond
	// calmBytes bounds how much is read meanwhile.
	calmBytes = 256 << 10
)

// errCalm is what the server of net/http reads and writes after GOAWAY with ENHANCE_YOUR_CALM.
var errCalm = errors.New("h2: the connection has ended with ENHANCE_YOUR_CALM")

// conn is a connection as the server of net/http sees it. It follows the frames that are written, so that GOAWAY can be
// sent between two of them.
type conn struct {
	net.Conn
	heads *heads.Account
	// tls is the state of TLS, or nil.
	tls *tls.ConnectionState

	calmed atomic.Bool
	// mutex is held while bytes are written.
	mutex sync.Mutex
	// header is the beginning of a frame that is being written; left is how much of its payload is to come.
	header []byte
	left   int
	over   bool
}

// Read reads from the client; it ends with GOAWAY.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.calmed.Load() {
		return 0, io.EOF
	}
	return n, err
}

// Write writes frames, or parts of them.
func (c *conn) Write(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.over {
		return 0, errCalm
	}
	n, err := c.Conn.Write(p)
	c.follow(p[:n])
	if c.calmed.Load() {
		c.goAway()
	}
	return n, err
}

// follow notes where in its frames the server is.
func (c *conn) follow(written []byte) {
	for len(written) > 0 {
		if c.left > 0 {
			n := min(c.left, len(written))
			c.left -= n
			written = written[n:]
			continue
		}
		n := min(headerBytes-len(c.header), len(written))
		c.header = append(c.header, written[:n]...)
		written = written[n:]
		if len(c.header) == headerBytes {
			c.left = int(c.header[0])<<16 | int(c.header[1])<<8 | int(c.header[2])
			c.header = c.header[:0]
		}
	}
}

// calm ends the connection with GOAWAY and ENHANCE_YOUR_CALM. A client that does not read is cut.
func (c *conn) calm() {
	if c.calmed.Swap(true) {
		return
	}
	c.tryGoAway()
	time.AfterFunc(calmTime, func() {
		c.tryGoAway() // A write that had not seen calmed may have held the mutex.
		_ = c.Conn.Close()
	})
}

// tryGoAway sends GOAWAY, unless a write is under way, which does so itself.
func (c *conn) tryGoAway() {
	if c.mutex.TryLock() {
		c.goAway()
		c.mutex.Unlock()
	}
}

// goAway sends GOAWAY if no frame is being written. The mutex is held.
func (c *conn) goAway() {
	if c.over || c.left > 0 || len(c.header) > 0 {
		return
	}
	c.over = true
	var frame [headerBytes + 8]byte
	frame[2], frame[3] = 8, byte(http2.FrameGoAway)
	binary.BigEndian.PutUint32(frame[headerBytes:], lastStream)
	binary.BigEndian.PutUint32(frame[headerBytes+4:], uint32(http2.ErrCodeEnhanceYourCalm))
	_ = c.Conn.SetWriteDeadline(time.Now().Add(calmTime))
	_, _ = c.Conn.Write(frame[:])
	if half, ok := c.Conn.(httpio.HalfCloser); ok {
		_ = half.CloseWrite()
	}
	// Wakes the server up, whose Read then returns io.EOF.
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

// Close closes the connection. After GOAWAY it is read for a moment more, so that a reset does not take the frame away.
func (c *conn) Close() error {
	if !c.calmed.Load() {
		return c.Conn.Close()
	}
	go func() {
		_ = c.Conn.SetReadDeadline(time.Now().Add(calmTime))
		_, _ = io.CopyN(io.Discard, c.Conn, calmBytes)
		_ = c.Conn.Close()
	}()
	return nil
}
