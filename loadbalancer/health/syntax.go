package health

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

var (
	errForeign   = errors.New("is a URL of its own, not a path")
	errTarget    = errors.New("has a character that no request may have; it must be escaped")
	errNoTarget  = errors.New("can't be read as a path")
	errNoToken   = errors.New("is no name of a header")
	errNoValue   = errors.New("has a value with a character that no header may have")
	errTwice     = errors.New("is there twice, in different spelling")
	errProtocol  = errors.New("would request another protocol, which a check doesn't speak")
	errNoAddress = errors.New("is no host, with or without a port")
)

// normalPath returns a path with its query in the form of a Check: with a leading slash it is absolute,
// otherwise relative to the path of the server.
func normalPath(path string) (string, error) {
	asked, err := reference("", path)
	if err != nil || !strings.HasPrefix(path, "/") {
		return path, err
	}
	return asked.RequestURI(), nil
}

// reference returns the request target for a path with its query on a server whose URL has the path base,
// escaped or empty.
func reference(base, path string) (*url.URL, error) {
	relative, err := url.Parse(path)
	if err != nil {
		return nil, errNoTarget
	}
	if relative.Scheme != "" || relative.Host != "" || relative.User != nil || relative.Opaque != "" {
		return nil, errForeign
	}
	server, err := url.Parse("http://server" + base)
	if err != nil || server.Host != "server" {
		return nil, errNoTarget
	}
	asked := server.ResolveReference(relative)
	target := asked.RequestURI()
	if strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errTarget
	}
	if asked.Path == "" {
		asked.Path = "/"
	}
	return &url.URL{Path: asked.Path, RawPath: asked.RawPath, RawQuery: asked.RawQuery}, nil
}

// authority reports whether text is a host, with or without a port.
func authority(text string) bool {
	parsed, err := url.Parse("http://" + text)
	return err == nil && parsed.Host == text && parsed.Hostname() != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{|}`+"`", r)
	})
}

// token reports whether text is a token (RFC 9110 section 5.6.2).
func token(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// setHeaders flattens the headers. Host is the hostname where there is no other. Fields about the connection
// are left out, since a check closes its own.
func (c *Check) setHeaders(config *dynamic.ServerHealthCheck) error {
	fields := make(map[string]string, len(config.Headers))
	for name, value := range config.Headers {
		canonical := http.CanonicalHeaderKey(name)
		_, twice := fields[canonical]
		switch {
		case !token(name):
			return fmt.Errorf("headers: %q %w", document.ShowKey(name), errNoToken)
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }):
			return fmt.Errorf("headers: %q %w", name, errNoValue)
		case twice:
			return fmt.Errorf("headers: %q %w", name, errTwice)
		case canonical == "Upgrade":
			return fmt.Errorf("headers: %q %w", name, errProtocol)
		case canonical == "Host" && !authority(value):
			return fmt.Errorf("headers: the value of %q %w", name, errNoAddress)
		}
		fields[canonical] = strings.Trim(value, " \t")
	}
	if host, given := fields["Host"]; given && c.hostname == "" {
		c.hostname = host
	}
	for _, name := range []string{
		"Host", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Content-Length",
	} {
		delete(fields, name)
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		lines.WriteString(name + ":" + fields[name] + "\n")
	}
	c.headers = lines.String()
	return nil
}

// header returns the fields of a request.
func (c *Check) header() http.Header {
	header := http.Header{"User-Agent": {userAgent}}
	for line := range strings.Lines(c.headers) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		header[name] = []string{value}
	}
	return header
}

// userAgent is the User-Agent of checks unless the option headers has one.
const userAgent = "sluice-health-check"
