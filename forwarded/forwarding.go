package forwarded

import (
	"net/http"
	"net/netip"
	"strings"
)

// Policy holds the trust rules of one entrypoint (forwardedHeaders.*). It is a plain value and safe for concurrent use.
// The zero value trusts no peer.
type Policy struct {
	// Insecure trusts every peer (forwardedHeaders.insecure).
	Insecure bool
	// Trusted contains the peers whose managed headers are trusted (forwardedHeaders.trustedIPs).
	Trusted Trust
	// Connection names the headers that a Connection header may keep for the middlewares (forwardedHeaders.connection), in
	// net/http's canonical spelling.
	Connection []string
	// SchemeHeaders adds X-Forwarded-Scheme and X-Scheme (forwardedHeaders.addXForwardedSchemeHeaders).
	SchemeHeaders bool
	// Forwarded is the handling of the header Forwarded (forwardedHeaders.forwarded). The zero value is ModeTrusted.
	Forwarded Mode
	// Transparent leaves the managed headers as the peer sent them: for a forward proxy, whose peer is the application.
	Transparent bool
	// Server is the value of X-Forwarded-Server, the host name of this machine; empty leaves it out.
	Server string
}

// Trusts reports whether a peer's managed headers are trusted. The address is as [ClientAddr] returns it; the zero
// address is trusted by Insecure only.
func (f *Policy) Trusts(peer netip.Addr) bool {
	return f.Insecure || f.Trusted.Contains(peer)
}

// Apply sets the managed headers of a request, in place and in this order: managed headers of an untrusted peer are
// removed, and their "_" aliases of any peer; hop-by-hop headers are removed ([RemoveHopByHop]); then X-Real-Ip,
// X-Forwarded-Proto (http, https, ws, wss), X-Forwarded-Port and X-Forwarded-Host are set unless a trusted peer sent
// them, X-Forwarded-Server always, and lines of X-Forwarded-For are joined. The peer itself is appended to
// X-Forwarded-For when the request is forwarded, not here. Forwarded is a managed header, with the exceptions of
// [Mode].
//
// It reads Host and TLS of r, and runs once per request, after canonical.Policy.Normalize and before any handler.
func (f *Policy) Apply(r *http.Request, peer netip.Addr) {
	text := ""
	if peer.IsValid() {
		text = peer.String()
	}
	f.ApplyIn(new(Values), r, Peer{Address: peer, Text: text, Seen: Seen{HopByHop: true, Extended: true}})
}

// Values is space for the values that Apply sets.
type Values [7]string

// Peer is the sender of a request.
type Peer struct {
	// Address is as [ClientAddr] returns it, and Text its text form, empty if there is none.
	Address netip.Addr
	Text    string
	// Seen describes the headers that it sent.
	Seen Seen
}

// Seen is a hint at the kinds of headers in a request; only false is certain.
type Seen struct {
	// HopByHop is set if there may be hop-by-hop headers.
	HopByHop bool
	// Extended is set if there may be headers whose names begin with "X" or "x", or Forwarded.
	Extended bool
}

// ApplyIn is Apply with memory for the values, which must stay valid as long as the header.
func (f *Policy) ApplyIn(values *Values, r *http.Request, peer Peer) {
	h := r.Header
	if f.Transparent {
		removeHopByHop(h, f.Connection)
		return
	}
	websocket, hopByHop := false, peer.Seen.HopByHop
	if peer.Seen.Extended {
		hopByHop = f.sift(h, f.Trusts(peer.Address))
	}
	if hopByHop {
		websocket = strings.EqualFold(upgradeOf(h), "websocket")
		removeHopByHop(h, f.Connection)
	}

	// Headers that were not sent need not be looked up.
	absent := func(name string) bool { return !peer.Seen.Extended || first(h, name) == "" }
	next := 0
	set := func(name, value string) {
		values[next] = value
		h[name] = values[next : next+1 : next+1]
		next++
	}
	if peer.Text != "" && absent(XRealIP) {
		set(XRealIP, peer.Text)
	}
	if absent(XForwardedProto) {
		set(XForwardedProto, scheme(r.TLS != nil, websocket))
	}
	if absent(XForwardedPort) {
		set(XForwardedPort, forwardedPort(r))
	}
	if r.Host != "" && absent(XForwardedHost) {
		set(XForwardedHost, r.Host)
	}
	if f.SchemeHeaders {
		proto := first(h, XForwardedProto)
		set(XForwardedScheme, proto)
		set(XScheme, proto)
	}
	if f.Server != "" {
		set(XForwardedServer, f.Server)
	}
	if lines := h[XForwardedFor]; len(lines) > 1 {
		h[XForwardedFor] = []string{strings.Join(lines, ", ")}
	}
	if f.Forwarded == ModeAppend {
		appendForwarded(h, peer.Address, r.Host, scheme(r.TLS != nil, false))
	}
}

// sift removes the headers that a peer may not set, in one pass, and reports whether there are hop-by-hop headers.
// Aliases of managed headers are removed for trusted peers too, since they may pass on a client's.
func (f *Policy) sift(h http.Header, trusted bool) (hopByHop bool) {
	for name := range h {
		if header := managed(name); header != "" {
			if name != header || !trusted && (header != Forwarded || f.Forwarded != ModeKeep) {
				delete(h, name)
			}
			continue
		}
		hopByHop = hopByHop || isHopByHop(name)
	}
	return hopByHop
}

func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func scheme(encrypted, websocket bool) string {
	switch {
	case encrypted && websocket:
		return "wss"
	case encrypted:
		return "https"
	case websocket:
		return "ws"
	}
	return "http"
}

func forwardedPort(r *http.Request) string {
	if colon := strings.LastIndexByte(r.Host, ':'); colon >= 0 && portSuffix(r.Host[colon:]) {
		return r.Host[colon+1:]
	}
	if proto := first(r.Header, XForwardedProto); r.TLS != nil || proto == "https" || proto == "wss" {
		return "443"
	}
	return "80"
}
