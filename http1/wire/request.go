package wire

import (
	"bytes"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
)

// Request is the head of a request.
type Request struct {
	Message
	// Method is a token, in the case in which it was sent.
	Method string
	// Target is the request target as it was sent.
	Target string
	// Version is the protocol as it was sent, such as "HTTP/1.1".
	Version string
	// Host is the value of Host; empty in HTTP/1.0 without one. A target in absolute form is more important.
	Host string
}

// versionBytes is the length of "HTTP/1.1".
const versionBytes = 8

// Parse reads a complete head, as [Scanner.Scan] has delimited it, into r, which must be new apart from Values. The
// names in b change their case; nothing of r points into b. The error is an [*Error].
func (r *Request) Parse(b []byte) error {
	end := bytes.IndexByte(b, '\n')
	if end < 1 || b[end-1] != '\r' {
		return ErrBareLF
	}
	line := b[:end-1]
	first := bytes.IndexByte(line, ' ')
	last := bytes.LastIndexByte(line, ' ')
	if first < 0 || last <= first+1 {
		return lineError(line)
	}
	if !token(line[:first]) {
		return lineOr(line, ErrMethod)
	}
	minor, err := version(line[last+1:])
	if err != nil {
		return lineOr(line, err)
	}
	r.Minor = minor
	if err := checkTarget(line[first+1 : last]); err != nil {
		return lineOr(line, err)
	}
	var fixed [stackSpans]span
	r.Host, err = r.fields(b, end+1, fixed[:0], func(text string) error {
		r.Method, r.Target, r.Version = text[:first], text[first+1:last], text[last+1:end-1]
		return nil
	})
	if err != nil {
		return err
	}
	return r.checkHost()
}

func (r *Request) checkHost() error {
	switch {
	case r.hosts > 1:
		return ErrHosts
	case r.hosts == 0 && r.Minor > 0:
		return ErrNoHost
	}
	return checkHost(r.Host)
}

// lineOr names a bare carriage return before any other reason.
func lineOr(line []byte, err error) error {
	if bytes.IndexByte(line, '\r') >= 0 {
		return ErrBareCR
	}
	return err
}

func lineError(line []byte) error { return lineOr(line, ErrRequestLine) }

// version reads "HTTP/1.x".
func version(b []byte) (minor int, err error) {
	if len(b) != versionBytes || string(b[:5]) != "HTTP/" || b[6] != '.' || !digit(b[5]) || !digit(b[7]) {
		return 0, ErrVersion
	}
	if b[5] != '1' {
		return 0, ErrMajor
	}
	return min(int(b[7]-'0'), 1), nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// checkTarget refuses what no form of a target can hold.
func checkTarget(b []byte) error {
	for _, c := range b {
		if c <= ' ' || c == 0x7f || c == '#' {
			return ErrTarget
		}
	}
	return nil
}

// checkHost validates the host. An empty Host means that its target has none (RFC 9112, section 3.2).
func checkHost(host string) error {
	switch {
	case host == "" || canonical.ValidAuthority(host):
		return nil
	case strings.IndexByte(host, '@') >= 0:
		return ErrUserinfo
	}
	return ErrHost
}
