package forwarded

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Mode is the handling of the header Forwarded of RFC 7239 (the option forwardedHeaders.forwarded).
type Mode int

const (
	// ModeTrusted removes the header of untrusted peers and keeps that of trusted ones.
	ModeTrusted Mode = iota
	// ModeAppend is ModeTrusted, and appends an element with for, host and proto of the request.
	ModeAppend
	// ModeKeep keeps the header of every peer, as Traefik does.
	ModeKeep
)

// ParseMode parses the value of forwardedHeaders.forwarded: trusted, append or keep. Empty means trusted.
func ParseMode(text string) (Mode, error) {
	switch text {
	case "", "trusted":
		return ModeTrusted, nil
	case "append":
		return ModeAppend, nil
	case "keep":
		return ModeKeep, nil
	}
	return 0, fmt.Errorf("forwarded: %q is not one of trusted, append and keep", text)
}

// appendForwarded appends an element for a request (RFC 7239 section 4). An unknown peer is "unknown" (section 6.2).
func appendForwarded(h http.Header, peer netip.Addr, host, proto string) {
	element := "for=" + forwardedNode(peer)
	if host != "" {
		element += ";host=" + quoteForwarded(host)
	}
	element += ";proto=" + proto
	if lines := h[Forwarded]; len(lines) > 0 {
		element = strings.Join(lines, ", ") + ", " + element
	}
	h[Forwarded] = []string{element}
}

// forwardedNode returns the node identifier of an address (RFC 7239 section 6): IPv6 in brackets and quotes, without a
// zone.
func forwardedNode(peer netip.Addr) string {
	switch peer = peer.Unmap(); {
	case !peer.IsValid():
		return "unknown"
	case peer.Is4():
		return peer.String()
	}
	return `"[` + peer.WithZone("").String() + `]"`
}

// quoteForwarded returns a parameter's value as a token if it is one, otherwise as a quoted-string.
func quoteForwarded(value string) string {
	if strings.IndexFunc(value, func(c rune) bool { return !isTokenRune(c) }) < 0 {
		return value
	}
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, c := range []byte(value) {
		if c == '"' || c == '\\' {
			quoted.WriteByte('\\')
		}
		quoted.WriteByte(c)
	}
	quoted.WriteByte('"')
	return quoted.String()
}

// isTokenRune reports whether c is valid in a token (RFC 9110 section 5.6.2).
func isTokenRune(c rune) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || strings.ContainsRune("!#$%&'*+-.^_`|~",
		c)
}
