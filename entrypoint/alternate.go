package entrypoint

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/entrypoint/h3"
	"github.com/sluiceproxy/sluice/static"
)

// alternateAge is how many seconds clients keep what Alt-Svc says. A day bounds how long a path that loses UDP makes
// them wait for HTTP/3 first.
const alternateAge = 86400

// alternate holds the values of Alt-Svc (RFC 7838, section 3). They are shared by all responses.
type alternate struct {
	// serving offers HTTP/3, and clear has clients drop what they have kept of it; nil without HTTP/3.
	serving, clear []string
}

func newAlternate(http3 *static.HTTP3, socket net.PacketConn) alternate {
	if http3 == nil {
		return alternate{}
	}
	a := alternate{clear: []string{"clear"}}
	if socket == nil {
		return a
	}
	port := http3.AdvertisedPort
	if port == 0 {
		if udp, ok := socket.LocalAddr().(*net.UDPAddr); ok {
			port = udp.Port
		}
	}
	a.serving = []string{fmt.Sprintf(`h3=":%d"; ma=%d`, port, alternateAge)}
	return a
}

// known reports whether there is anything to say.
func (a *alternate) known() bool { return a.clear != nil }

// advertise sets Alt-Svc for a request over TLS on TCP. Handlers may change it.
func (e *Entrypoint) advertise(c *connection, header http.Header, r *http.Request) {
	state := h3.Failed // Nothing serves it: http3.withdrawn.
	if e.http3 != nil {
		state = e.http3.State()
	}
	switch {
	case e.draining.Load():
	case state == h3.Failed:
		header["Alt-Svc"] = e.alternate.clear
	case state == h3.Serving && c != nil && c.modern && e.sameOptions(c, r.Host):
		header["Alt-Svc"] = e.alternate.serving
	}
}

// sameOptions reports whether a client that connects for the host by HTTP/3 comes under the TLS options of the
// connection, which then allow TLS 1.3.
func (e *Entrypoint) sameOptions(c *connection, authority string) bool {
	host, ok := canonical.Host(authority)
	if !ok {
		return false
	}
	if host == c.handshake.ServerName {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		host = "" // Addresses are no SNI (RFC 6066, section 3).
	}
	options, ok := e.selector.SelectTLS(host)
	return ok && options != nil && options.Fingerprint == c.handshake.Fingerprint
}
