package oracle

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// message is a request as a strict reader understands it.
type message struct {
	method, target, version string
	fields, trailers        []field
	chunked                 bool
	body                    string
	// faults are what is wrong with it although its end is certain.
	faults []string
}

type field struct{ name, value string }

// errMore means that the message is incomplete.
var errMore = errors.New("incomplete")

var (
	token = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	// version matches what has the syntax of HTTP/1.1, of any minor version (RFC 9112 section 2.3).
	version  = regexp.MustCompile(`^HTTP/1\.[0-9]$`)
	hostname = regexp.MustCompile(`^(?:(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*|\[[0-9A-Fa-f:.]+\])(?::[0-9]*)?$`)
	// target matches what has no fragment and is one word; which bytes a path is made of is not about framing.
	target = regexp.MustCompile("^[^\x00-\x20#\x7f]+$")
	// uri matches what a proxy may send (RFC 3986 section 2).
	uri      = regexp.MustCompile(`^(?:[!$&-;=?-Z_a-z~]|%[0-9A-Fa-f]{2})+$`)
	absolute = regexp.MustCompile(`^(?i:https?)://([^/?]+)(?:[/?].*)?$`)
	percent  = regexp.MustCompile(`%(?:[0-9A-Fa-f]?$|[^0-9A-Fa-f]|[0-9A-Fa-f][^0-9A-Fa-f])`)
	control  = regexp.MustCompile(`[\x00-\x08\x0a-\x1f\x7f]`)
	digits   = regexp.MustCompile(`^[0-9]{1,18}$`)
	chunk    = regexp.MustCompile("^([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\x00-\x08\x0a-\x1f\x7f]*)?$")
)

// read parses one request at the beginning of the data. The error is errMore, or why the end of the request is
// ambiguous.
func read(data string) (message, string, error) {
	data = strings.TrimPrefix(data, "\r\n") // RFC 9112 section 2.2.
	head, rest, whole := strings.Cut(data, "\r\n\r\n")
	if !whole {
		return message{}, data, errMore
	}
	line, fields, _ := strings.Cut(head, "\r\n")
	var m message
	m.readLine(line)
	if fields != "" {
		m.fields = m.readFields(fields)
	}
	m.checkHost()
	return m.readBody(rest)
}

func (m *message) fault(format string, args ...any) {
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

func (m *message) readLine(line string) {
	parts := strings.Split(line, " ")
	if len(parts) != 3 {
		m.fault("request line %q", line)
		return
	}
	m.method, m.target, m.version = parts[0], parts[1], parts[2]
	if !token.MatchString(m.method) {
		m.fault("method %q", m.method)
	}
	if !version.MatchString(m.version) {
		m.fault("version %q", m.version)
	}
	form := absolute.FindStringSubmatch(m.target)
	path, _, _ := strings.Cut(m.target, "?")
	switch {
	case !target.MatchString(m.target), percent.MatchString(path):
		m.fault("target %q", m.target)
	case m.method == "CONNECT" && hostname.MatchString(m.target), m.method == "OPTIONS" && m.target == "*",
		m.target[0] == '/':
	case form == nil || !hostname.MatchString(form[1]) || form[1][0] == ':':
		m.fault("target %q", m.target)
	}
}

func (m *message) readFields(text string) []field {
	var fields []field
	for line := range strings.SplitSeq(text, "\r\n") {
		name, value, colon := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !colon || !token.MatchString(name) || control.MatchString(value) {
			m.fault("field %q", line)
		}
		fields = append(fields, field{name, value})
	}
	return fields
}

// values returns the values of the fields with a name.
func (m *message) values(name string) []string {
	var values []string
	for _, one := range m.fields {
		if strings.EqualFold(one.name, name) {
			values = append(values, one.value)
		}
	}
	return values
}

func (m *message) checkHost() {
	hosts := m.values("Host")
	if len(hosts) > 1 || len(hosts) == 0 && m.version != "HTTP/1.0" {
		m.fault("%d times Host", len(hosts))
	}
	for _, host := range hosts {
		if !hostname.MatchString(host) {
			m.fault("host %q", host)
		}
	}
}

func (m *message) readBody(rest string) (message, string, error) {
	lengths, codings := m.values("Content-Length"), m.values("Transfer-Encoding")
	switch {
	case len(codings) > 1 || len(codings) == 1 && !strings.EqualFold(codings[0], "chunked"):
		return *m, rest, fmt.Errorf("transfer codings %q", codings)
	case len(codings) == 1:
		if len(lengths) > 0 || m.version == "HTTP/1.0" {
			m.fault("chunks with lengths %q in %s", lengths, m.version)
		}
		m.chunked = true
		return m.readChunks(rest)
	case len(lengths) == 0:
		return *m, rest, nil
	case len(lengths) > 1 || !digits.MatchString(lengths[0]):
		return *m, rest, fmt.Errorf("lengths %q", lengths)
	}
	length, err := strconv.Atoi(lengths[0])
	if err != nil {
		return *m, rest, err
	}
	if len(rest) < length {
		return *m, rest, errMore
	}
	m.body = rest[:length]
	return *m, rest[length:], nil
}

func (m *message) readChunks(rest string) (message, string, error) {
	for {
		line, data, whole := strings.Cut(rest, "\r\n")
		if !whole {
			return *m, rest, errMore
		}
		size := chunk.FindStringSubmatch(line)
		if size == nil {
			return *m, rest, fmt.Errorf("chunk size %q", line)
		}
		length, err := strconv.ParseInt(size[1], 16, 64)
		switch {
		case err != nil:
			return *m, rest, err
		case length == 0:
			return m.readTrailers(data)
		case int64(len(data)) < length+2:
			return *m, rest, errMore
		case data[length:length+2] != "\r\n":
			return *m, rest, fmt.Errorf("%q behind a chunk", data[length:length+2])
		}
		m.body += data[:length]
		rest = data[length+2:]
	}
}

func (m *message) readTrailers(rest string) (message, string, error) {
	if after, none := strings.CutPrefix(rest, "\r\n"); none {
		return *m, after, nil
	}
	text, after, whole := strings.Cut(rest, "\r\n\r\n")
	if !whole {
		return *m, rest, errMore
	}
	m.trailers = m.readFields(text)
	return *m, after, nil
}

// keeps reports whether another request may follow on the connection.
func (m *message) keeps() bool {
	options := strings.Split(strings.ToLower(strings.ReplaceAll(strings.Join(m.values("Connection"), ","), " ", "")), ",")
	return !slices.Contains(options, "close") && (m.version != "HTTP/1.0" || slices.Contains(options, "keep-alive"))
}

// readAll returns the requests in a client's bytes that a strict reader answers before it closes the connection.
func readAll(data string) []message {
	var all []message
	for data != "" {
		m, rest, err := read(data)
		if err != nil || len(m.faults) > 0 {
			break
		}
		all = append(all, m)
		if !m.keeps() {
			break
		}
		data = rest
	}
	return all
}

func TestRead(t *testing.T) {
	t.Parallel()
	const get, post = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST / HTTP/1.1\r\nHost: a\r\n"
	tests := []struct {
		data string
		want int
	}{
		{get + get, 2},
		{"\r\n" + get, 1},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, close\r\n\r\n" + get, 1},
		{"GET / HTTP/1.0\r\n\r\n" + get, 1},
		{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + get, 2},
		{post + "Content-Length: 2\r\n\r\nab" + get, 2},
		{post + "Content-Length: 2\r\n\r\na", 0},
		{post + "Content-Length: +2\r\n\r\nab" + get, 0},
		{post + "Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n0\r\nT: u\r\n\r\n" + get, 2},
		{post + "Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n" + get, 0},
		{post + "Transfer-Encoding: chunked\r\n\r\n2\nab\r\n0\r\n\r\n" + get, 0},
		{post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + get, 0},
		{post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n" + get, 0},
		{post + "X: a\n\r\n\r\n", 0},
		{post + " X: a\r\n\r\n", 0},
		{post + "Host: a\r\n\r\n", 0},
		{"GET http://a:8/b?c HTTP/1.1\r\nHost: a\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 2},
		{"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"GET /b\\c\u00e4?%zz HTTP/1.1\r\nHost: a\r\n\r\n", 1},
		{"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 0},
		{"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 0},
		{"GET /\r\n\r\n", 0},
	}
	for _, test := range tests {
		if got := len(readAll(test.data)); got != test.want {
			t.Errorf("%q: %d requests, want %d", test.data, got, test.want)
		}
	}
}
