package forwarded

import (
	"net/http"
	"strings"
)

// Frames reports whether a header is about where a message ends, its target, or what concerns one connection only.
// None of these is ever an identity: no server that decides about a request may set them, and an expression that
// matches everything must not touch them. The name is in net/http's canonical spelling.
func Frames(name string) bool {
	switch name {
	case "Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Proxy-Connection", "Te",
		"Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// FramesAs is [Frames] for servers that read "_" in names as "-".
func FramesAs(name string) bool {
	return Frames(name) ||
		strings.Contains(name, "_") && Frames(http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")))
}
