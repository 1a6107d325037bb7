package nginx_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// timeout bounds an exchange.
const timeout = time.Minute

// response is an answer to a client.
type response struct {
	status int
	header http.Header
	body   string
	// presented are the names in the certificate of the server.
	presented []string
}

// client sends the requests of cases.
type client struct {
	own, others *authority
	t           *testing.T
}

// dial connects to a socket, or to an address with port, and says where from.
func dial(ctx context.Context, address string, r cases.Request) (net.Conn, error) {
	network := "unix"
	if !strings.Contains(address, "/") {
		network = "tcp"
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	port := r.Proxy
	if port == 0 {
		port = map[string]int{"http": 80, "https": 443}[r.Scheme]
	}
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if _, err := fmt.Fprintf(conn, "PROXY TCP4 %s 198.51.100.1 40000 %d\r\n", r.Client, port); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// secure makes the handshake of a request to https.
func (c *client) secure(ctx context.Context, conn net.Conn, r cases.Request) (*tls.Conn, error) {
	config := &tls.Config{ServerName: r.ServerName, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if r.Protocol == "h2" {
		config.NextProtos = []string{"h2"}
	}
	if name := r.Certificate; name != "" {
		issuer := c.own
		if name == foreign {
			issuer = c.others
		}
		certificate := issuer.issue(c.t, name)
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certificate, nil }
	}
	secured := tls.Client(conn, config)
	return secured, secured.HandshakeContext(ctx)
}

// send sends a request, as it is written, and reads the answer.
func (c *client) send(ctx context.Context, address string, r cases.Request, more ...cases.Field) (*response, error) {
	if r.Protocol == "h2" {
		return c.sendH2(ctx, address, r, more...)
	}
	conn, err := dial(ctx, address, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	var presented []string
	if r.Scheme == "https" {
		secured, err := c.secure(ctx, conn, r)
		if err != nil {
			return nil, err
		}
		conn, presented = secured, secured.ConnectionState().PeerCertificates[0].DNSNames
	}
	written := make(chan struct{})
	go func() { // With one Write: nginx responds in another way to a short body that comes after its head.
		defer close(written)
		_, _ = io.WriteString(conn, head(r, more)+r.Body+body(r)) // An answer may come first, and end the connection.
	}()
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	_ = conn.Close()
	<-written
	return &response{answer.StatusCode, answer.Header, string(content), presented}, nil
}

// body returns a request body of zeros.
func body(r cases.Request) string {
	zeros := strings.Repeat("0", r.Length)
	if r.Chunked {
		return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", r.Length, zeros)
	}
	return zeros
}

// head returns the first line and the fields of a request.
func head(r cases.Request, more []cases.Field) string {
	var text strings.Builder
	version := "1.1"
	if r.Protocol != "" {
		version = r.Protocol
	}
	fmt.Fprintf(&text, "%s %s HTTP/%s\r\nHost: %s\r\n", r.Method, r.Target, version, r.Host)
	for _, fields := range [][]cases.Field{r.Header, more} {
		for _, field := range fields {
			fmt.Fprintf(&text, "%s: %s\r\n", field.Name, field.Value)
		}
	}
	switch {
	case r.Chunked:
		fmt.Fprint(&text, "Transfer-Encoding: chunked\r\n")
	case r.Length > 0 || r.Body != "":
		fmt.Fprintf(&text, "Content-Length: %s\r\n", strconv.Itoa(r.Length+len(r.Body)))
	}
	return text.String() + "\r\n"
}

// sendH2 sends a request with HTTP/2, without TLS by prior knowledge.
func (c *client) sendH2(ctx context.Context, address string, r cases.Request, more ...cases.Field) (*response, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{
		DisableCompression: true, Protocols: protocols,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, address, r) },
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx, address, r)
			if err != nil {
				return nil, err
			}
			return c.secure(ctx, conn, r)
		},
	}
	defer transport.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, r.Method, r.Scheme+"://"+r.Host+r.Target, strings.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for _, fields := range [][]cases.Field{r.Header, more} {
		for _, field := range fields {
			request.Header.Add(field.Name, field.Value)
		}
	}
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return nil, err
	}
	return &response{status: answer.StatusCode, header: answer.Header, body: string(body)}, nil
}
