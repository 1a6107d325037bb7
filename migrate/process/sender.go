package process

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

const (
	// timeout is for one request.
	timeout = 30 * time.Second
	// mostIdle is how many idle connections are kept.
	mostIdle = 64
	// mostBody is what is read of a response's body, in bytes, before the connection is closed.
	mostBody = 64 << 10
)

// sender sends probes to the entrypoints.
type sender struct {
	address func(scheme string) net.Addr
	arrived func(number string) *answer.Upstream

	mu    sync.Mutex
	idle  map[connectionKey][]*clientConn
	count int
}

// connectionKey is what requests of one connection have in common.
type connectionKey struct{ scheme, name, client string }

type clientConn struct {
	net.Conn
	in *bufio.Reader
}

// Answer implements answer.Answerer.
func (p *Process) Answer(ctx context.Context, one probe.Probe) (answer.Answer, error) {
	head, err := one.Head()
	if err != nil {
		return answer.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name, _, _ := strings.Cut(one.Host, ":")
	key := connectionKey{one.Scheme, name, cmp.Or(one.Client, probe.DefaultClient)}
	for {
		conn, reused, err := p.sender.connect(ctx, key)
		if err != nil {
			return answer.Answer{}, err
		}
		got, err := p.sender.exchange(ctx, key, conn, head, one)
		if reused && err != nil && ctx.Err() == nil {
			continue // The connection may have been closed in between.
		}
		if err == nil && got.Status == http.StatusServiceUnavailable && got.Upstream == nil {
			p.explain(one, &got)
		}
		return got, err
	}
}

// connect returns an idle connection, or a new one.
func (s *sender) connect(ctx context.Context, key connectionKey) (_ *clientConn, reused bool, err error) {
	s.mu.Lock()
	if all := s.idle[key]; len(all) > 0 {
		conn := all[len(all)-1]
		s.idle[key] = all[:len(all)-1]
		if len(all) == 1 {
			delete(s.idle, key)
		}
		s.count--
		s.mu.Unlock()
		return conn, true, nil
	}
	s.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address(key.scheme).String())
	if err != nil {
		return nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	port := map[string]int{plainEntryPoint: 80, secureEntryPoint: 443}[key.scheme]
	_, err = fmt.Fprintf(conn, "PROXY %s %s %s 40000 %d\r\n", family(key.client), key.client, local(key.client), port)
	if err != nil {
		return nil, false, errors.Join(err, conn.Close())
	}
	if key.scheme == secureEntryPoint {
		//nolint:gosec // Certificates are not what is compared, and nothing leaves the process.
		secured := tls.Client(conn, &tls.Config{ServerName: key.name, InsecureSkipVerify: true, MinVersion: tls.VersionTLS10})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, false, errors.Join(err, conn.Close())
		}
		return &clientConn{secured, bufio.NewReader(secured)}, false, nil
	}
	return &clientConn{conn, bufio.NewReader(conn)}, false, nil
}

// family and local are those of the PROXY protocol for a client's address.
func family(client string) string {
	if strings.Contains(client, ":") {
		return "TCP6"
	}
	return "TCP4"
}

func local(client string) string {
	if strings.Contains(client, ":") {
		return "2001:db8::1"
	}
	return "198.51.100.1"
}

// exchange sends a request and reads the response. It keeps the connection, or closes it.
func (s *sender) exchange(
	ctx context.Context, key connectionKey, conn *clientConn, head []byte, one probe.Probe,
) (got answer.Answer, err error) {
	keep := false
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if stop() && keep && err == nil {
			s.keep(key, conn)
			return
		}
		_ = conn.Close()
	}()
	var request bytes.Buffer
	_, _ = request.Write(head)
	if one.Length > 0 {
		_, _ = fmt.Fprintf(&request, "Content-Length: %d\r\n", one.Length)
	}
	_, _ = request.WriteString("\r\n")
	if _, err := conn.Write(request.Bytes()); err != nil {
		return got, err
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	if one.Length > 0 {
		sending.Go(func() { _, _ = io.CopyN(conn, zeros{}, one.Length) }) // A response may come first.
	}
	response, err := http.ReadResponse(conn.in, &http.Request{Method: one.Method})
	if err != nil {
		_ = conn.Close()
		return got, err
	}
	read, err := io.CopyN(io.Discard, response.Body, mostBody)
	if err != nil && !errors.Is(err, io.EOF) {
		_ = conn.Close()
		return got, err
	}
	keep = read < mostBody && !response.Close && one.Length == 0
	if !keep {
		_ = conn.Close()
	}
	got = answer.Answer{Status: response.StatusCode, Header: response.Header}
	if number := response.Header.Get(fieldArrival); number != "" {
		response.Header.Del(fieldArrival)
		if got.Upstream = s.arrived(number); got.Upstream == nil {
			return got, fmt.Errorf("the response answers a request that is not kept: %s", number)
		}
		got.Step = answer.Forward
	}
	return got, nil
}

// zeros reads as zeros without end.
type zeros struct{}

// Read fills p with zeros.
func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

// keep keeps an idle connection, and closes another one if there are too many.
func (s *sender) keep(key connectionKey, conn *clientConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		_ = conn.Close()
		return
	}
	if s.count == mostIdle {
		for other, all := range s.idle {
			_ = all[0].Close()
			if s.idle[other] = all[1:]; len(all) == 1 {
				delete(s.idle, other)
			}
			s.count--
			break
		}
	}
	s.idle[key] = append(s.idle[key], conn)
	s.count++
}

// close closes all idle connections; none is kept from now on.
func (s *sender) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.idle {
		for _, conn := range all {
			_ = conn.Close()
		}
	}
	s.idle = nil
}
