package forwardproxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forwardproxy"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve runs an entrypoint that is a forward proxy without routers, and returns a client that uses it.
func serve(t *testing.T, options *static.ForwardProxy) *http.Client {
	t.Helper()
	config := &static.EntryPoint{Address: "127.0.0.1:0", ForwardProxy: options}
	config.SetDefaults()
	table := router.NewActiveTable([]router.EntryPoint{{Name: "proxy"}})
	direct := forwardproxy.NewDirect(log.New(io.Discard, "", 0), nil)
	proxy := forwardproxy.New(options, table.HandlerOr("proxy", direct))
	opened, err := entrypoint.New("proxy", config, proxy, table.TLS("proxy"), entrypoint.Dependencies{})
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	served := make(chan error, 1)
	go func() { served <- opened.Serve(ctx) }()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: opened.Addr().String()})}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
		direct.Close()
	})
	return &http.Client{Transport: transport}
}

// endpoint answers with the header of each request.
func endpoint(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s\n", r.Method, r.Host, r.RequestURI, body)
		_ = r.Header.Write(w)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// answer returns the status and the body of a response.
func answer(t *testing.T, client *http.Client, request *http.Request) (status int, body string) {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func request(t *testing.T, method, address, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOtherHostsAreReached requests a host that no router has. The endpoint gets the request as it was, without the
// default headers, which are for Services.
func TestOtherHostsAreReached(t *testing.T) {
	host := endpoint(t)
	client := serve(t, &static.ForwardProxy{DefaultHeaders: map[string]string{"x-virtual-env": "dev.a", "X-Kept": "no"}})
	r := request(t, http.MethodPost, "http://"+host+"/a%20b?c=d;e=%", "text")
	r.Header.Set("X-Kept", "yes")
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("User-Agent", "app")
	status, body := answer(t, client, r)
	if first, _, _ := strings.Cut(body, "\n"); status != http.StatusOK || first != "POST "+host+" /a%20b?c=d;e=% text" {
		t.Errorf("%d %q", status, first)
	}
	for _, want := range []string{
		"X-Kept: yes\r", "X-Forwarded-For: 192.0.2.7\r", "X-Forwarded-Proto: https\r",
		"User-Agent: app\r", "Via: 1.1 sluice-",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing of %s", want, body)
		}
	}
	for _, name := range []string{
		"X-Real-Ip", "X-Forwarded-Host", "X-Forwarded-Server", "Proxy-Connection", "X-Virtual-Env",
	} {
		if strings.Contains(body, name) {
			t.Errorf("%s was added: %s", name, body)
		}
	}
}

// TestRoutersGetDefaultHeaders looks at requests where routers get them.
func TestRoutersGetDefaultHeaders(t *testing.T) {
	var got http.Header
	options := &static.ForwardProxy{DefaultHeaders: map[string]string{"x-virtual-env": "dev.a", "X-Kept": "no"}}
	p := forwardproxy.New(options, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	r := request(t, http.MethodGet, "http://other/", "")
	r.Header.Set("X-Kept", "yes")
	p.ServeHTTP(httptest.NewRecorder(), r)
	if got.Get("X-Virtual-Env") != "dev.a" || got.Get("X-Kept") != "yes" || len(got) != 2 {
		t.Errorf("%v", got)
	}
}

// TestHTTPSIsRefused sends a target with https without a tunnel: it would go on without TLS.
func TestHTTPSIsRefused(t *testing.T) {
	client := serve(t, &static.ForwardProxy{})
	transport, _ := client.Transport.(*http.Transport)
	proxy, _ := transport.Proxy(nil)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	host := endpoint(t)
	_, _ = fmt.Fprintf(connection, "GET https://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n", host, host)
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil || response.StatusCode != http.StatusNotImplemented {
		t.Errorf("%v %v", response, err)
	}
}

// TestFailures requests hosts that cannot be reached.
func TestFailures(t *testing.T) {
	closed := http1test.Reserve(t)
	client := serve(t, &static.ForwardProxy{})
	if status, _ := answer(t, client, request(t, http.MethodGet, "http://"+closed, "")); status != http.StatusBadGateway {
		t.Errorf("a closed port: %d", status)
	}
	transport, _ := client.Transport.(*http.Transport)
	proxy, _ := transport.Proxy(nil)
	loop := request(t, http.MethodGet, "http://"+proxy.Host+"/", "")
	if status, _ := answer(t, client, loop); status != http.StatusLoopDetected {
		t.Errorf("the address of the proxy itself: %d", status)
	}
}

// TestUpgrade switches to another protocol through the proxy.
func TestUpgrade(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			t.Errorf("Upgrade: %q", r.Header.Get("Upgrade"))
		}
		connection, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = connection.Close() }()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = buffered.Flush()
		line, _ := buffered.ReadString('\n')
		_, _ = io.WriteString(connection, "got "+line)
	}))
	defer server.Close()
	client := serve(t, &static.ForwardProxy{})
	transport, _ := client.Transport.(*http.Transport)
	proxy, _ := transport.Proxy(nil)
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", proxy.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	_, _ = fmt.Fprintf(connection, "GET %s/ HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		server.URL, strings.TrimPrefix(server.URL, "http://"))
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", response, err)
	}
	_, _ = io.WriteString(connection, "hello\n")
	if line, err := reader.ReadString('\n'); line != "got hello\n" {
		t.Errorf("%q %v", line, err)
	}
}

// TestAwaitQuiet ends when there has been no request for the time of shutdownQuiet, or after shutdownTimeout.
func TestAwaitQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := &static.ForwardProxy{
			ShutdownQuiet: static.Duration(2 * time.Second), ShutdownTimeout: static.Duration(10 * time.Second),
		}
		busy := make(chan struct{})
		p := forwardproxy.New(options, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-busy }))
		waits := func() time.Duration {
			begun := time.Now()
			p.AwaitQuiet(t.Context())
			return time.Since(begun).Round(100 * time.Millisecond)
		}
		if got := waits(); got != 2*time.Second {
			t.Errorf("without requests after %v", got)
		}
		go p.ServeHTTP(nil, request(t, http.MethodGet, "http://other/", ""))
		synctest.Wait()
		time.AfterFunc(3*time.Second, func() { close(busy) })
		if got := waits(); got != 5*time.Second {
			t.Errorf("with a request of three seconds after %v", got)
		}
		busy = make(chan struct{})
		go p.ServeHTTP(nil, request(t, http.MethodGet, "http://other/", ""))
		synctest.Wait()
		if got := waits(); got != 10*time.Second {
			t.Errorf("with a long request after %v", got)
		}
		close(busy)
	})
	p := forwardproxy.New(&static.ForwardProxy{}, http.NotFoundHandler())
	p.AwaitQuiet(t.Context()) // It returns at once.
}
