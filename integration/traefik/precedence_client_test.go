package traefik

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	routertcp "github.com/sluiceproxy/sluice/router/tcp"
)

// everyday are the clients that connect to each entrypoint.
func everyday() []string {
	return []string{"silent", "tcp", "http", "https/a", "https/b", "https/", "tls/a", "tls10/a", "h2/a"}
}

// client does on a connection what its name says, and returns what it gets. What follows the slash is the server name,
// without the domain test.
func client(name string, conn net.Conn) string {
	kind, host, _ := strings.Cut(name, "/")
	config := &tls.Config{
		InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, //nolint:gosec // Versions count.
	}
	if host != "" {
		host += ".test"
		config.ServerName = host
	} else {
		host = "b.test"
	}
	get := "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
	switch kind {
	case "silent":
		return heard(conn)
	case "tcp":
		return said(conn, greeting)
	case "http":
		return said(conn, strings.Replace(get, "b.test", "a.test", 1))
	case "http2":
		return said(conn, preface)
	case "https", "tls":
		payload := get
		if kind == "tls" {
			payload = greeting
		}
		return secure(conn, config, payload)
	case "tls10":
		config.MaxVersion = tls.VersionTLS10
		return secure(conn, config, get)
	case "h2":
		config.NextProtos = []string{"h2"}
		return secure(conn, config, preface)
	case "acme":
		config.NextProtos = []string{"acme-tls/1"}
		return secure(conn, config, "")
	case "fragments":
		return secure(&fragmenting{Conn: conn}, config, get)
	case "postgres":
		return requested(conn, config)
	case "half": // The beginning of a request of PostgreSQL for TLS.
		return said(conn, routertcp.SSLRequest[:4])
	case "zero": // The first byte of such a request, and others.
		return said(conn, "\x00"+greeting)
	case "80": // The first byte of SSLv2, and of framed Thrift.
		return said(conn, "\x80\x01\x00\x01\x00\x00\x00\x04ping\x00\x00\x00\x00\x00\r\n\r\n")
	case "long": // A record that is longer than TLS allows.
		return said(conn, "\x16\x03\x01\xff\xff")
	}
	return "unknown client"
}

// greeting is no HTTP. It is as long as a server has to read to find that it is no HTTP/2 either.
const greeting = "hello, server\r\n\r\n"

// preface begins HTTP/2, with an empty SETTINGS frame (RFC 9113, section 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// said writes bytes, and returns the answer.
func said(conn net.Conn, text string) string {
	if _, err := io.WriteString(conn, text); err != nil {
		return failed(err)
	}
	return heard(conn)
}

// secure makes a TLS connection, writes bytes, and returns the answer behind the version and the protocol.
func secure(conn net.Conn, config *tls.Config, payload string) string {
	heard := &hearing{Conn: conn}
	secured := tls.Client(heard, config)
	if err := secured.Handshake(); err != nil { //nolint:noctx // The connection has a deadline.
		var header tls.RecordHeaderError
		if errors.As(err, &header) {
			return "without TLS: " + parse(&heard.bytes)
		}
		return failed(err)
	}
	state := secured.ConnectionState()
	answer := tls.VersionName(state.Version)
	if state.NegotiatedProtocol != "" {
		answer += " " + state.NegotiatedProtocol
	}
	return answer + ", " + said(secured, payload)
}

// requested requests TLS as clients of PostgreSQL do.
func requested(conn net.Conn, config *tls.Config) string {
	if _, err := io.WriteString(conn, routertcp.SSLRequest); err != nil {
		return failed(err)
	}
	first := make([]byte, 1)
	if _, err := io.ReadFull(conn, first); err != nil {
		return failed(err)
	}
	if string(first) != routertcp.SSLAccepted {
		return parse(io.MultiReader(bytes.NewReader(first), conn))
	}
	return "accepted, " + secure(conn, config, "")
}

// heard returns the answer that comes on a connection.
func heard(conn net.Conn) string { return parse(conn) }

// recordAlert begins an alert of TLS (RFC 8446, section 5.1), which comes before the end.
const recordAlert = 0x15

// parse returns an answer in words: the name of a TCP endpoint, that of an HTTP endpoint, or a status.
func parse(from io.Reader) string {
	reader := bufio.NewReader(from)
	first, err := reader.Peek(len("HTTP/"))
	switch {
	case len(first) == 0:
		return failed(err)
	case first[0] == recordAlert:
		return "closed"
	case bytes.HasPrefix(first, []byte{0, 0}) && err == nil:
		return fmt.Sprintf("HTTP/2 frame %d", first[3])
	case string(first) != "HTTP/":
		line, _ := reader.ReadString('\n')
		return strings.TrimSpace(line)
	}
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close() //nolint:errcheck // Nothing is lost.
	if response.StatusCode != http.StatusOK {
		return response.Status[:3]
	}
	body, _ := io.ReadAll(response.Body)
	return "200, " + string(body)
}

// nothing is the answer of a server that waits for the client.
const nothing = "nothing"

// failed returns why there is no answer: the alert of TLS, or how the connection ended.
func failed(err error) string {
	switch _, alert, alerted := strings.Cut(err.Error(), "remote error: tls: "); {
	case alerted:
		return "alert: " + alert
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nothing
	}
	return "closed"
}

// hearing keeps what is read.
type hearing struct {
	net.Conn

	bytes bytes.Buffer
}

func (h *hearing) Read(p []byte) (int, error) {
	n, err := h.Conn.Read(p)
	h.bytes.Write(p[:n])
	return n, err
}

// fragmenting writes the first TLS record, that of the ClientHello, as two records.
type fragmenting struct {
	net.Conn

	done bool
}

func (f *fragmenting) Write(p []byte) (int, error) {
	const header = 5
	if f.done || len(p) <= 2*header {
		return f.Conn.Write(p)
	}
	f.done = true
	var split []byte
	for _, part := range [][]byte{p[header : 2*header], p[2*header:]} {
		split = append(split, p[0], p[1], p[2], byte(len(part)>>8), byte(len(part)))
		split = append(split, part...)
	}
	if _, err := f.Conn.Write(split); err != nil {
		return 0, err
	}
	return len(p), nil
}
