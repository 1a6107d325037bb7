package compress

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// lengthUnknown is the length of a body without Content-Length.
const lengthUnknown = -1

// eligible reports whether a response may be compressed by its head, apart from its content type: it has a body that is
// a complete, unencoded representation without a digest.
func eligible(status int, header http.Header) bool {
	switch {
	case status < 200, status == http.StatusNoContent, status == http.StatusResetContent,
		status == http.StatusPartialContent, status == http.StatusNotModified:
		return false
	case slices.ContainsFunc(header["Content-Encoding"], isNamed), len(header["Content-Range"]) > 0,
		listed(header["Cache-Control"], "no-transform"):
		return false
	}
	announced := header["Trailer"]
	for _, name := range digests() {
		if len(header[name]) > 0 || len(announced) > 0 && listed(announced, name) {
			return false
		}
	}
	return true
}

// digests are headers with digests of the body (RFC 9530, RFC 3230, RFC 2616).
func digests() [4]string {
	return [...]string{"Repr-Digest", "Content-Digest", "Digest", "Content-Md5"}
}

// dropDigests removes unannounced trailers with digests.
func dropDigests(header http.Header) {
	for _, name := range digests() {
		delete(header, http.TrailerPrefix+name)
	}
}

func isNamed(value string) bool { return value != "" }

// first returns the first value of a header.
func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// contentLength returns the Content-Length, or lengthUnknown.
func contentLength(header http.Header) int64 {
	values := header["Content-Length"]
	if len(values) != 1 || values[0] == "" || len(values[0]) > 18 {
		return lengthUnknown
	}
	length := int64(0)
	for i := range len(values[0]) {
		digit := values[0][i] - '0'
		if digit > 9 {
			return lengthUnknown
		}
		length = 10*length + int64(digit)
	}
	return length
}

// describe sets the headers of the compressed response.
func (c *coding) describe(header http.Header) {
	// The service's ranges are those of the uncompressed body.
	delete(header, "Content-Length")
	delete(header, "Accept-Ranges")
	header["Content-Encoding"] = c.header
	if vary := header["Vary"]; !listed(vary, "Accept-Encoding") && !listed(vary, "*") {
		header["Vary"] = append(slices.Clip(vary), "Accept-Encoding")
	}
	if tag := first(header["Etag"]); tag != "" && !strings.HasPrefix(tag, "W/") {
		// The bytes differ from those that the service named (RFC 9110, section 8.8.3.3).
		header["Etag"] = []string{"W/" + tag}
	}
}

// kept is a copy of the header at the time of WriteHeader, while the decision is pending. Later changes are for
// trailers.
type kept struct{ header http.Header }

func (k *kept) keep(header http.Header) { k.header = maps.Clone(header) }

// swap restores the copy, and returns the changed header, or nil if it is the same.
func (k *kept) swap(header http.Header) (later http.Header) {
	if k.header == nil || maps.EqualFunc(header, k.header, slices.Equal) {
		return nil
	}
	later = maps.Clone(header)
	replace(header, k.header)
	return later
}

func replace(header, by http.Header) {
	clear(header)
	maps.Copy(header, by)
}
