package grpcweb

import (
	"net/http"
	"strings"
)

// Media types of both protocols.
const (
	nativeType = "application/grpc"
	webType    = "application/grpc-web"
	textType   = "application/grpc-web-text"
)

// kind is a media type of gRPC-Web.
type kind struct {
	// text means that frames are encoded in base64.
	text bool
	// rest is the remainder, such as +proto and parameters.
	rest string
}

// parseKind parses a Content-Type; ok is false if it is not gRPC-Web.
func parseKind(contentType string) (kind, bool) {
	rest, ok := cutFold(contentType, webType)
	if !ok {
		return kind{}, false
	}
	var k kind
	if k.rest, k.text = cutFold(rest, "-text"); k.text {
		k.rest, _ = cutFold(k.rest, "-base64")
	} else {
		k.rest = rest
	}
	return k, k.rest == "" || strings.IndexByte("+; \t", k.rest[0]) >= 0
}

// parseNative returns what follows the media type of gRPC; ok is false for others.
func parseNative(contentType string) (rest string, ok bool) {
	rest, ok = cutFold(contentType, nativeType)
	return rest, ok && (rest == "" || strings.IndexByte("+; \t", rest[0]) >= 0)
}

// cutFold is strings.CutPrefix, ignoring case.
func cutFold(text, prefix string) (rest string, ok bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// wantsText reports whether the response is to be encoded in base64: by Accept, or like the request if Accept does not
// contain gRPC-Web.
func wantsText(header http.Header, called kind) bool {
	binary := false
	for _, list := range header["Accept"] {
		for one := range strings.SplitSeq(list, ",") {
			if accepted, ok := parseKind(strings.TrimSpace(one)); ok {
				if accepted.text {
					return true
				}
				binary = true
			}
		}
	}
	return called.text && !binary
}
