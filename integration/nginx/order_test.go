package nginx_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx"
)

const (
	declared = "Content-Length: 10\r\n\r\n0123456789"
	chunked  = "Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n"
	none     = "\r\n"
	// allowed are the credentials that orderConfig accepts.
	allowed = "Authorization: Basic dXNlcjpwYXNz\r\n"
)

// TestOrder checks in which order nginx applies what a location has, on which the order of a translated Ingress rests.
func TestOrder(t *testing.T) {
	p := nginx.Start(t, nginx.Options{})
	if err := os.WriteFile(p.Socket("users"), []byte("user:{PLAIN}pass\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Reload(orderConfig(p)); err != nil {
		t.Fatal(err)
	}
	holdConnection(t, p)
	const limit, connection = 471, 472
	for name, c := range map[string]struct {
		target, rest string
		want         int
	}{
		"server's return before 413 and 301": {"/approot", declared, http.StatusFound},
		"413 before the slash":               {"/slash", declared, http.StatusRequestEntityTooLarge},
		"slash before return":                {"/slash", none, http.StatusMovedPermanently},
		"slash before deny and credentials":  {"/guarded", none, http.StatusMovedPermanently},
		"413 before return":                  {"/slash/", declared, http.StatusRequestEntityTooLarge},
		"return before deny":                 {"/slash/", none, http.StatusNoContent},
		"413 before deny and credentials":    {"/guarded/", declared, http.StatusRequestEntityTooLarge},
		"413 before limits":                  {"/limited", declared, http.StatusRequestEntityTooLarge},
		"chunked body after deny":            {"/guarded/", chunked, http.StatusForbidden},
		"chunked body after credentials":     {"/basic", chunked, http.StatusUnauthorized},
		"chunked body itself":                {"/basic", allowed + chunked, http.StatusRequestEntityTooLarge},
		"chunked body and return":            {"/slash/", chunked, http.StatusNoContent},
		"deny before credentials":            {"/guarded/", none, http.StatusForbidden},
		"credentials before request":         {"/both", none, http.StatusUnauthorized},
		"request behind credentials":         {"/both", allowed, http.StatusForbidden},
		"requests before connections":        {"/limited", none, limit},
		"connections":                        {"/connections", none, connection},
		"limits before deny":                 {"/limiteddeny", none, limit},
		"any: 401 wins over deny":            {"/any", none, http.StatusUnauthorized},
		"any: 401 wins over request":         {"/anyrequest", none, http.StatusUnauthorized},
		"any: one of them":                   {"/any", allowed, http.StatusOK},
	} {
		if got := statusOf(t, p, nil, c.target, c.rest); got != c.want {
			t.Errorf("%s: POST %s gives %d, want %d", name, c.target, got, c.want)
		}
	}
}

func orderConfig(p *nginx.Process) string {
	basic := "auth_basic x; auth_basic_user_file " + p.Socket("users") + ";"
	return fmt.Sprintf(`
  limit_req_zone $server_name zone=req:1m rate=1r/m;
  limit_conn_zone $server_name zone=conn:1m;
  limit_req_status 471;
  limit_conn_status 472;
  server { listen unix:%[2]s; location / { return 200; } }
  server {
    listen unix:%[1]s;
    server_name order;
    client_max_body_size 5;
    if ($uri = /approot) { return 302 /app; }
    location = /forbid { internal; return 403; }
    location /slash/ { deny all; return 204; proxy_pass http://unix:%[2]s; }
    location /guarded/ { deny all; %[4]s proxy_pass http://unix:%[2]s; }
    location /basic { %[4]s proxy_pass http://unix:%[2]s; }
    location /both { %[4]s auth_request /forbid; proxy_pass http://unix:%[2]s; }
    location /any { satisfy any; deny all; %[4]s proxy_pass http://unix:%[2]s; }
    location /anyrequest { satisfy any; %[4]s auth_request /forbid; proxy_pass http://unix:%[2]s; }
    location /hold { limit_req zone=req; limit_conn conn 1; proxy_pass http://unix:%[3]s; }
    location /limited { limit_req zone=req; limit_conn conn 1; proxy_pass http://unix:%[2]s; }
    location /connections { limit_conn conn 1; deny all; proxy_pass http://unix:%[2]s; }
    location /limiteddeny { limit_req zone=req; deny all; proxy_pass http://unix:%[2]s; }
  }
`, p.Socket("web"), p.Socket("echo"), p.Socket("hold"), basic)
}

// holdConnection makes a request that is not answered before the test ends, so that both limits are reached.
func holdConnection(t *testing.T, p *nginx.Process) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", p.Socket("hold"))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	accepted := make(chan net.Conn, 1)
	serving.Go(func() {
		conn, err := listener.Accept()
		if err == nil {
			accepted <- conn
		}
		close(accepted)
	})
	client, err := new(net.Dialer).DialContext(t.Context(), "unix", p.Socket("web"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := io.WriteString(client, "GET /hold HTTP/1.1\r\nHost: order\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	held := <-accepted
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
		if held != nil {
			_ = held.Close()
		}
	})
}

// statusOf returns the status of a request on a connection of its own.
func statusOf(t *testing.T, p *nginx.Process, secured *tls.Config, target, rest string) int {
	t.Helper()
	socket := "web"
	if secured != nil {
		socket = "tls"
	}
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", p.Socket(socket))
	if err != nil {
		t.Fatal(err)
	}
	if secured != nil {
		conn = tls.Client(conn, secured)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(rest, "\r\n\r\n") && rest != none {
		rest += "\r\n"
	}
	if _, err := io.WriteString(conn, "POST "+target+" HTTP/1.1\r\nHost: order\r\n"+rest); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return response.StatusCode
}

// TestOrderOfClientCertificate checks that a missing certificate is refused before the server's own rules, and on TLS
// only.
func TestOrderOfClientCertificate(t *testing.T) {
	p := nginx.Start(t, nginx.Options{})
	authority := harness.NewAuthority(t)
	issued := authority.Issue("order")
	client := authority.Issue("client")
	err := p.Reload(fmt.Sprintf(`
  server {
    listen unix:%s ssl;
    listen unix:%s;
    server_name order;
    ssl_certificate %s;
    ssl_certificate_key %s;
    ssl_client_certificate %s;
    ssl_verify_client on;
    if ($uri = /approot) { return 302 /app; }
    location / { return 200; }
  }
`, p.Socket("tls"), p.Socket("web"), issued.CertFile, issued.KeyFile, authority.File))
	if err != nil {
		t.Fatal(err)
	}
	without := &tls.Config{RootCAs: authority.Pool, ServerName: "order", MinVersion: tls.VersionTLS12}
	with := without.Clone()
	with.Certificates = []tls.Certificate{client.Pair}
	for name, c := range map[string]struct {
		secured *tls.Config
		want    int
	}{
		"without a certificate": {without, http.StatusBadRequest},
		"with a certificate":    {with, http.StatusFound},
		"without TLS":           {nil, http.StatusFound},
	} {
		if got := statusOf(t, p, c.secured, "/approot", none); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
