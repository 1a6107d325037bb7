package forwarded

import (
	"iter"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// RemoveHopByHop removes the headers of a request that concern one connection only (RFC 9110 section 7.6.1), in place:
//
//   - every header that Connection names, except managed ones, which a client could otherwise remove, and except those
//     in keepConnection (the option forwardedHeaders.connection, in net/http's canonical spelling), which stay in
//     Connection too, until the next call;
//   - Keep-Alive, Proxy-Connection, Transfer-Encoding, Trailer and HTTP2-Settings;
//   - Proxy-Authenticate and Proxy-Authorization: credentials for this hop never reach an endpoint, and a challenge of
//     an endpoint for its own proxy users never reaches a client;
//   - TE, of which "trailers" stays;
//   - Upgrade, unless Connection lists it too. Then both stay ("Connection: Upgrade"), without h2c, which is never
//     upgraded to.
//
// It applies to responses too, except that the caller handles Upgrade: servers advertise protocols with it, to which
// the client of another connection cannot switch.
//
// It is called once when a request arrives, before anything is set that a client must not remove, and once when it is
// forwarded. Calling it again changes nothing, except that with another keepConnection what was kept goes.
func RemoveHopByHop(h http.Header, keepConnection []string) {
	for name := range h {
		if isHopByHop(name) {
			removeHopByHop(h, keepConnection)
			return
		}
	}
}

func removeHopByHop(h http.Header, keepConnection []string) {
	upgrade := upgradeOf(h)
	trailers := hasToken(h["Te"], "trailers")
	kept := removeListed(h, keepConnection)
	removeFixed(h)
	if trailers {
		h["Te"] = []string{"trailers"}
	}
	if upgrade != "" {
		h["Upgrade"] = []string{upgrade}
		kept = append(kept, "Upgrade")
	}
	if len(kept) > 0 {
		h["Connection"] = []string{strings.Join(kept, ", ")}
	}
}

// UpgradeType returns the protocols of an upgrade request, as in its Upgrade header, or "" for other requests:
// Connection does not name Upgrade, or only h2c is left.
func UpgradeType(h http.Header) string { return upgradeOf(h) }

func upgradeOf(h http.Header) string {
	if len(h["Upgrade"]) == 0 || !hasToken(h["Connection"], "upgrade") {
		return ""
	}
	var protocols []string
	for protocol := range tokens(h["Upgrade"]) {
		if !strings.EqualFold(protocol, "h2c") {
			protocols = append(protocols, protocol)
		}
	}
	if len(protocols) == 1 {
		return protocols[0]
	}
	return strings.Join(protocols, ", ")
}

// removeListed removes the headers that Connection names and returns the names to keep.
func removeListed(h http.Header, keep []string) (kept []string) {
	for token := range tokens(h["Connection"]) {
		if strings.EqualFold(token, "keep-alive") || strings.EqualFold(token, "close") {
			continue // These headers are removed below, or are managed.
		}
		name := textproto.CanonicalMIMEHeaderKey(token)
		switch {
		case name == "Upgrade" || IsManaged(name):
		case slices.Contains(keep, name):
			if _, ok := h[name]; ok && !slices.Contains(kept, name) {
				kept = append(kept, name)
			}
		default:
			delete(h, name)
		}
	}
	return kept
}

func removeFixed(h http.Header) {
	// Ten look-ups are faster than walking through a browser's headers.
	for _, name := range [...]string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding",
		"Upgrade", "Http2-Settings",
	} {
		delete(h, name)
	}
}

// isHopByHop reports whether a header, named in net/http's canonical spelling, is always hop-by-hop.
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Http2-Settings":
		return true
	}
	return false
}

// tokens yields the members of a comma-separated list header.
func tokens(values []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, value := range values {
			for token := range strings.SplitSeq(value, ",") {
				if token = textproto.TrimString(token); token != "" && !yield(token) {
					return
				}
			}
		}
	}
}

func hasToken(values []string, wanted string) bool {
	for token := range tokens(values) {
		if strings.EqualFold(token, wanted) {
			return true
		}
	}
	return false
}
