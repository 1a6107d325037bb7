package middleware

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// failuresStatic adds TLS, for HTTP/2, to static.
var failuresStatic = strings.Replace(static, "  traefik:",
	"  websecure: {address: \"127.0.0.1:0\", http: {tls: {}}}\n  traefik:", 1)

// column is a chain of middlewares that a failure meets.
type column struct{ name, middlewares string }

func columns() []column {
	return []column{
		{"nothing", ""},
		{"retry", "retry"},
		{"errors", "errors"},
		{"buffering", "buffering"},
		{"buffering with retryExpression", "repeat"},
		{"circuitBreaker", "breaker"},
		{"timeout", "timeout"},
	}
}

const failureMiddlewares = `
  middlewares:
    retry: {retry: {attempts: 3, status: ["500"]}}
    errors: {errors: {status: ["500-599"], service: pages, query: "/{status}"}}
    buffering: {buffering: {}}
    repeat: {buffering: {retryExpression: "(IsNetworkError() || ResponseCode() >= 500) && Attempts() < 3"}}
    breaker: {circuitBreaker: {expression: "NetworkErrorRatio() > 0 || ResponseCodeRatio(500, 600, 0, 600) > 0 || LatencyAtQuantileMS(100.0) > 2500", checkPeriod: 1ms}}
    timeout: {timeout: {responseHeader: 2500ms}}
  serversTransports:
    impatient: {forwardingTimeouts: {responseHeaderTimeout: 2500ms}}
    default: {}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
`

// combination is one line of the table. Each has a router, a pool and a host of its own, so that none leaves anything
// to another.
type combination struct {
	column  column
	failure string
	method  string
	once    bool
}

func combinations() []combination {
	var all []combination
	for _, column := range columns() {
		for _, failure := range []string{refuses, resets, hangs, half, failing, slow, early} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				for _, once := range []bool{false, true} {
					if failure == refuses && once || failure == early && (once || method == http.MethodGet) {
						// A stopped endpoint does not come back in time, and one without requests can't answer before the end.
						continue
					}
					all = append(all, combination{column, failure, method, once})
				}
			}
		}
	}
	return all
}

func (c combination) times() string {
	if c.once {
		return "once"
	}
	return "always"
}

// id is the host without the end, for one protocol.
func (c combination) id(protocol harness.Protocol) string {
	return strings.ToLower(fmt.Sprintf("%s.%s.%s.%s.%s", c.failure, c.method, protocol, strings.ReplaceAll(c.column.name,
		" ", "-"), c.times()))
}

func failureConfiguration() string {
	var routers, services strings.Builder
	for _, c := range combinations() {
		for _, protocol := range failureProtocols() {
			id := c.id(protocol)
			name, server, transport := strings.ReplaceAll(id, ".", "-"), "UPSTREAM", "default"
			switch c.failure {
			case refuses:
				server = "REFUSED"
			case hangs:
				transport = "impatient"
			}
			fmt.Fprintf(&routers, "    %s: {rule: Host(`%s.test`), service: %s, middlewares: [%s]}\n", name, id, name,
				c.column.middlewares)
			fmt.Fprintf(&services, "    %s: {loadBalancer: {serversTransport: %s, servers: [{url: 'http://${%s}'}]}}\n", name,
				transport, server)
		}
	}
	services.WriteString("    pages: {loadBalancer: {passHostHeader: false, servers: [{url: 'http://${PAGES}'}]}}\n")
	return "http:\n  routers:\n" + routers.String() + "  services:\n" + services.String() + failureMiddlewares
}

func failureProtocols() []harness.Protocol { return []harness.Protocol{harness.H1, harness.H2} }

// TestFailures records what clients get from failing endpoints.
func TestFailures(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	front := authority.Issue("wildcard", "*.test")
	endpoint := startUpstream(t)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page "+r.URL.Path)
	}))
	defer pages.Close()
	s := harness.Start(t, harness.Setup{
		Static: failuresStatic, Dynamic: map[string]string{"all.yaml": failureConfiguration()},
		Vars: map[string]string{
			"UPSTREAM": endpoint.address, "REFUSED": harness.RefusedAddress(t), "PAGES": pages.Listener.Addr().String(),
			"CERT": front.CertFile, "KEY": front.KeyFile,
		},
	})
	addresses := map[harness.Protocol]string{harness.H1: s.Addr("web"), harness.H2: s.Addr("websecure")}
	all := combinations()
	views := make([][2]string, len(all))
	var group sync.WaitGroup
	places := make(chan struct{}, 64) // Those that wait do so together.
	for i, c := range all {
		for n, protocol := range failureProtocols() {
			client := harness.NewClient(t, protocol, addresses[protocol], "any.test", &tls.Config{RootCAs: authority.Pool})
			places <- struct{}{}
			group.Go(func() {
				defer func() { <-places }()
				views[i][n] = c.view(client, endpoint)
			})
		}
	}
	group.Wait()
	golden(t, "failures.golden", table(all, views))
}

// view is the result of one client, and the number of requests to the endpoint. For a circuit breaker, the result of a
// later request follows.
func (c combination) view(client *harness.Client, endpoint *upstream) string {
	host := c.id(client.Protocol) + ".test"
	send := func() string {
		body, stop := c.body()
		request := client.Request(c.method, "/", body)
		request.Host = host
		return seenBy(client, request, stop)
	}
	view := send()
	if c.failure != refuses {
		view += fmt.Sprint(", asked ", endpoint.count(host))
	}
	if c.column.name == "circuitBreaker" {
		// The breaker evaluates its condition periodically, and may not have done so after the end of the first response.
		_ = send()
		view += ", later " + send()
	}
	return view
}

// body returns the request body, and a function that ends it after the response. If the endpoint answers early the body
// does not end, unless a middleware buffers it.
func (c combination) body() (body io.Reader, stop func()) {
	switch {
	case c.failure == early && !strings.HasPrefix(c.column.name, "buffering"):
		reader, writer := io.Pipe()
		go func() { _, _ = io.WriteString(writer, "a beginning") }() // It need not be read.
		return reader, func() { _ = writer.CloseWithError(errors.New("not wanted")) }
	case c.method == http.MethodPost:
		return strings.NewReader("a body"), func() {}
	}
	return nil, func() {}
}

// seenBy describes an answer: its status, body, whether it is whole, and whether it has a header of a response that
// failed.
func seenBy(client *harness.Client, request *http.Request, stop func()) string {
	response, err := client.Do(request)
	if err != nil {
		stop()
		return "no answer"
	}
	defer response.Body.Close() //nolint:errcheck // It was read.
	text, err := io.ReadAll(response.Body)
	stop() // A client of net/http waits for its body otherwise.
	view := fmt.Sprintf("%d %q", response.StatusCode, text)
	if err != nil {
		view = fmt.Sprint(response.StatusCode, " broken off")
	}
	if response.Header.Get("X-Failed")+response.Header.Get("Set-Cookie") != "" {
		view += " marked"
	}
	return view
}

// table writes a section for each chain, with one line if both protocols have the same result.
func table(all []combination, views [][2]string) string {
	var text strings.Builder
	section := ""
	for i, c := range all {
		if c.column.name != section {
			section = c.column.name
			fmt.Fprintf(&text, "%s\n", section)
		}
		line := fmt.Sprintf("  %-7s %-6s %-4s", c.failure, c.times(), c.method)
		if views[i][0] == views[i][1] {
			fmt.Fprintf(&text, "%s       %s\n", line, views[i][0])
			continue
		}
		for n, protocol := range failureProtocols() {
			fmt.Fprintf(&text, "%s  %s   %s\n", line, protocol, views[i][n])
		}
	}
	return text.String()
}
