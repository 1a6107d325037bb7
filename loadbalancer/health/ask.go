package health

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
)

const (
	// maxBody is how much of a response's body is read, in bytes.
	maxBody = 4 << 10
	// maxReason is the maximum length of foreign text in a reason, in bytes.
	maxReason = 200
)

// answer is the result of one check.
type answer struct {
	up     bool
	reason string
	// inconclusive says that the target was not reached for a reason that is not its own.
	inconclusive bool
}

// inconclusive is an error that says nothing about the target, such as that Sluice has no certificate to present.
type inconclusive interface {
	error

	// Inconclusive reports whether that is so.
	Inconclusive() bool
}

// run performs one check with a client of its own.
func (c *Check) run(ctx context.Context, target *Target) answer {
	where := c.locate(target)
	if c.tcp {
		return c.askTCP(ctx, target.Connect, where)
	}
	client := target.Connect.RoundTripper(where.wire, where.address, where.server)
	defer dismiss(client)
	if c.grpc {
		return c.askGRPC(ctx, client, where)
	}
	return c.askHTTP(ctx, client, where)
}

// closer is a client that can close connections in use.
type closer interface{ Close() }

// dismiss closes the connections of a client; with closer, also one that is not idle yet.
func dismiss(client Client) {
	if closer, can := client.(closer); can {
		closer.Close()
		return
	}
	client.CloseIdleConnections()
}

// location is the destination of a check.
type location struct {
	// wire is the scheme for the Connector, scheme that of the request.
	wire, scheme string
	address      netip.AddrPort
	// server is the authority of the server, empty if it has none; host is that of the request.
	server, host string
	// path is that of the server's URL, escaped.
	path string
}

// locate applies the scheme, port and hostname of the check to a target.
func (c *Check) locate(target *Target) location {
	where := location{wire: target.Scheme, address: target.Address, server: target.Host, path: target.Path}
	if c.scheme != "" {
		where.wire = c.scheme
	}
	if c.grpc && where.wire == "http" {
		where.wire = "h2c"
	}
	if where.scheme = where.wire; where.scheme == "h2c" {
		where.scheme = "http"
	}
	if c.port != 0 {
		where.address = netip.AddrPortFrom(target.Address.Addr(), c.port)
		if where.server != "" {
			name := url.URL{Host: where.server}
			where.server = net.JoinHostPort(name.Hostname(), strconv.Itoa(int(c.port)))
		}
	}
	switch {
	case c.hostname != "":
		where.host = c.hostname
	case where.server != "":
		where.host = where.server
	default:
		// A zone is local to this host (RFC 9844 section 6).
		where.host = netip.AddrPortFrom(where.address.Addr().WithZone(""), where.address.Port()).String()
	}
	return where
}

// request returns a request for the location that does not reuse a connection.
func (c *Check) request(ctx context.Context, method string, where *location, path *url.URL) *http.Request {
	asked := *path
	asked.Scheme, asked.Host = where.scheme, where.address.String()
	request := (&http.Request{
		Method: method, URL: &asked, Host: where.host, Header: c.header(), Close: true,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	return request
}

// failure returns the answer for a check without response.
func (c *Check) failure(ctx context.Context, err error) answer {
	if own, ok := errors.AsType[inconclusive](err); ok && own.Inconclusive() {
		return answer{reason: clause(err), inconclusive: true}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return answer{reason: "no answer within " + c.timeout.String()}
	}
	return answer{reason: clause(err)}
}

// clause returns an error without the destination, which is known, and without control characters.
func clause(err error) string {
	text := err.Error()
	if operation, ok := errors.AsType[*net.OpError](err); ok && operation.Err != nil {
		text = operation.Err.Error()
	}
	if call, ok := errors.AsType[*os.SyscallError](err); ok {
		text = call.Error()
	}
	return printable(text)
}

// printable returns text of limited length without line breaks and control characters.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	if len(text) > maxReason {
		text = strings.ToValidUTF8(text[:maxReason], "") + "..."
	}
	return text
}
