package redirectregex

import (
	"bytes"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
)

// Reasons for refusing to redirect.
var (
	errMany      = errors.New("the expression matches the URL too often")
	errLong      = errors.New("the redirect's URL is too long")
	errEmpty     = errors.New("the redirect's URL is empty")
	errNoURL     = errors.New("the redirect's URL is not valid")
	errNoHost    = errors.New("the redirect's URL has no valid host")
	errFreeStart = errors.New("the client's path decides the scheme of the redirect")
	errFreeHost  = errors.New("the client's path decides the host of the redirect")
)

// check refuses an invalid URL, and one whose host a link could choose: the client's path and query may be a label of
// the host, or the whole host if the replacement delimits it, but nothing else.
func (to *target) check(relative bool) error {
	switch {
	case to.long:
		return errLong
	case len(to.url) == 0:
		return errEmpty
	}
	scheme, start, err := to.scheme(relative)
	if err != nil {
		return err
	}
	if start > 0 {
		if err := to.checkHost(start); err != nil {
			return err
		}
	}
	parsed, err := url.Parse(to.location())
	if err != nil {
		return errNoURL
	}
	if start > 0 && (scheme == "" || isWeb(scheme)) && !canonical.ValidAuthority(parsed.Host) {
		return errNoHost
	}
	return nil
}

func isWeb(scheme string) bool { return scheme == "http" || scheme == "https" }

// scheme returns the scheme in lower case and the start of the authority, 0 for none.
func (to *target) scheme(relative bool) (scheme string, start int, err error) {
	rest := to.url
	if end := bytes.IndexAny(to.url, ":/?#"); end >= 0 && to.url[end] == ':' {
		if slices.ContainsFunc(to.from[:end+1], origin.link) {
			return "", 0, errFreeStart
		}
		scheme = strings.ToLower(string(to.url[:end]))
		rest = to.url[end+1:]
		start = end + 1
	}
	if !bytes.HasPrefix(rest, []byte("//")) {
		// Browsers treat "https:x" and "https:/x" like "https://x".
		if isWeb(scheme) {
			return "", 0, errNoHost
		}
		return scheme, 0, nil
	}
	if to.from[start].link() || to.from[start+1].link() || scheme == "" && !relative {
		return "", 0, errFreeHost
	}
	return scheme, start + 2, nil
}

// checkHost checks the authority that begins at start.
func (to *target) checkHost(start int) error {
	end := len(to.url)
	if length := bytes.IndexAny(to.url[start:], "/?#"); length >= 0 {
		end = start + length
	}
	if start == end {
		return nil
	}
	for i := start; i < end; i++ {
		if to.from[i].link() && !isLabel(to.url[i]) {
			return errFreeHost
		}
	}
	last := to.from[end-1]
	switch {
	case !last.link(): // "https://www${1}.example.com" with "/" in the group.
		if last == operator && end < len(to.url) && to.from[end] == group && to.goesOn(end) {
			return errFreeHost
		}
	case end < len(to.url) && to.from[end].link(): // "https://${1}.example.com" with "evil.example/" in it.
		return errFreeHost
	case slices.ContainsFunc(to.from[start:end], origin.ours): // "https://example.com$1" with ".evil.example" in it.
		return errFreeHost
	}
	return nil
}

// goesOn reports whether the replacement continues the host or port after the link's bytes at i.
func (to *target) goesOn(i int) bool {
	next := slices.IndexFunc(to.from[i:], origin.ours)
	return next >= 0 && (isLabel(to.url[i+next]) || strings.IndexByte(":@", to.url[i+next]) >= 0)
}

func isLabel(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.'
}

// location returns the target as a header value, with ambiguous characters encoded.
func (to *target) location() string {
	const hex = "0123456789ABCDEF"
	var location strings.Builder
	location.Grow(len(to.url))
	for _, c := range to.url {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`"<>\`, c) >= 0 {
			location.WriteString(string([]byte{'%', hex[c>>4], hex[c&15]}))
		} else {
			location.WriteByte(c)
		}
	}
	return location.String()
}
