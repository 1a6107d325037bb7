//go:build !unix

package client

import (
	"io"
	"net"
	"syscall"
)

// probe needs calls that this system does not have: idle connections are found dead by using them.
type probe struct {
	net.Conn
	only    bool
	records *records
}

func newProbe(net.Conn, syscall.RawConn) *probe { return nil }

func (p *probe) quiet() bool { return true }

func (p *probe) writeNow(b []byte) (int, error) { return p.Write(b) }

func (p *probe) fill(*clientConn) (int, error) { return 0, io.ErrNoProgress }
