package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// refusal is a request that Sluice answers itself, with its access log line.
type refusal struct {
	host, method, path, body string
	status                   int
	code                     string
	// service is set if the request reached one; the line has router and service then, and otherwise the router or
	// neither.
	router, service string
}

func refusals() []refusal {
	return []refusal{
		{"lost.test", "GET", "/", "", 404, "no_router", "", ""},
		{"empty.test", "GET", "/", "", 503, "no_endpoint", "empty@file", "empty@file"},
		{"refused.test", "GET", "/", "", 502, "endpoint_unreachable", "refused@file", "refused@file"},
		{"late.test", "POST", "/hang", "", 504, "endpoint_timeout", "late@file", "late@file"},
		{"guarded.test", "GET", "/", "", 401, "unauthorized", "guarded@file", ""},
		{"closed.test", "GET", "/", "", 403, "forbidden", "closed@file", ""},
		{"small.test", "POST", "/", strings.Repeat("x", 100), 413, "body_too_large", "small@file", ""},
		{"broken.test", "GET", "/", "", 503, "router_disabled", "broken@file", ""},
		{"shop.test", "POST", "/cut", "", 502, "endpoint_broken", "shop@file", "shop@file"},
	}
}

// TestLinesSayWhyRequestsFail has every kind of failure over every protocol.
func TestLinesSayWhyRequestsFail(t *testing.T) {
	t.Parallel()
	w := start(t, accessFile, nil)
	for n, protocol := range harness.Protocols() {
		answers := make([]sent, len(refusals()))
		for i, one := range refusals() { // Lines come a fifth of a second later: all together.
			client, id := w.client(t, protocol, one.host), fmt.Sprintf("refusal-%d-%d", n, i)
			stream := w.backend.Stream(id)
			var err error
			if answers[i], err = ask(client, client.Request(one.method, one.path+"?id="+id, strings.NewReader(one.body)),
				id); err != nil {
				t.Fatal(err)
			}
			close(stream.Events)
		}
		for i, one := range refusals() {
			t.Run(one.host+" "+one.code+" "+string(protocol), func(t *testing.T) {
				one.compare(t, answers[i], w.line(t, answers[i].id))
			})
		}
		t.Run("limited "+string(protocol), func(t *testing.T) { w.limited(t, protocol) })
		t.Run("client that leaves "+string(protocol), func(t *testing.T) {
			w.leaving(t, protocol, fmt.Sprint("leaving-", n))
		})
		t.Run("response that is cut "+string(protocol), func(t *testing.T) { w.cut(t, protocol) })
	}
	w.user(t)
	client := w.client(t, harness.H2, "shop.test")
	if _, err := ask(client, client.Request(http.MethodGet, "/status?code=503", nil), "own"); err != nil {
		t.Fatal(err)
	}
	if got := w.line(t, "own"); got["ErrorCode"] != nil || got["DownstreamStatus"] != 503.0 ||
		got["OriginStatus"] != 503.0 {
		t.Errorf("the endpoint's own answer: %v", got)
	}
}

// compare checks that a line has the client's result and its reason.
func (r refusal) compare(t *testing.T, done sent, got map[string]any) {
	t.Helper()
	text := func(name string) string {
		if got[name] == nil {
			return ""
		}
		return fmt.Sprint(got[name])
	}
	if done.StatusCode != r.status || text("DownstreamStatus") != fmt.Sprint(r.status) || text("ErrorCode") != r.code ||
		text("ErrorReason") == "" && r.code != "no_router" {
		t.Errorf("status %d, %v", done.StatusCode, got)
	}
	if text("RouterName") != r.router || r.service != "" && text("ServiceName") != r.service {
		t.Errorf("router %q, service %q", text("RouterName"), text("ServiceName"))
	}
	if text("DownstreamContentSize") != fmt.Sprint(len(done.Text)) ||
		text("RequestContentSize") != fmt.Sprint(len(r.body)) {
		t.Errorf("%s bytes of %d sent, %s of %d received", text("DownstreamContentSize"), len(done.Text),
			text("RequestContentSize"), len(r.body))
	}
}

// limited exceeds the limit by one request.
func (w *world) limited(t *testing.T, protocol harness.Protocol) {
	client := w.client(t, protocol, "limited.test")
	id := "limited-" + string(protocol)
	client.Get("/")
	done, err := ask(client, client.Request(http.MethodGet, "/", nil), id)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.line(t, id); done.StatusCode != http.StatusTooManyRequests || got["DownstreamStatus"] != 429.0 ||
		got["ErrorCode"] != "rate_limited" || got["RouterName"] != "limited@file" {
		t.Errorf("status %d, %v", done.StatusCode, got)
	}
}

// leaving has a client leave before it is answered.
func (w *world) leaving(t *testing.T, protocol harness.Protocol, id string) {
	client := w.client(t, protocol, "shop.test")
	stream := w.backend.Stream(id)
	ctx, leave := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := ask(client, client.Request(http.MethodGet, "/hang?id="+id, nil).WithContext(ctx), id)
		ended <- err
	}()
	harness.Await(t, stream.Begun, "the request")
	leave()
	if err := harness.Await(t, ended, "the end"); err == nil {
		t.Error("it has been answered")
	}
	harness.Await(t, stream.Gone, "the endpoint's end")
	if got := w.line(t, id); got["DownstreamStatus"] != 499.0 || got["OriginStatus"] != 0.0 ||
		got["ErrorCode"] != "client_left" || got["ServiceName"] != "shop@file" {
		t.Errorf("%v", got)
	}
}

// cut has an endpoint break off in the middle of its response.
func (w *world) cut(t *testing.T, protocol harness.Protocol) {
	client := w.client(t, protocol, "shop.test")
	id := "cut-" + string(protocol)
	done, err := ask(client, client.Request(http.MethodGet, "/cut?size=1000", nil), id)
	if err == nil {
		t.Error("the response is whole")
	}
	// What was still on its way is lost with the connection.
	if got := w.line(t, id); got["DownstreamStatus"] != 200.0 || got["ErrorCode"] != "endpoint_broken" ||
		got["OriginContentSize"] != 1000.0 || len(done.Text) > 1000 {
		t.Errorf("%d bytes, %v", len(done.Text), got)
	}
}

// user authenticates.
func (w *world) user(t *testing.T) {
	t.Helper()
	client := w.client(t, harness.H2, "guarded.test")
	request := client.Request(http.MethodGet, "/", nil)
	request.SetBasicAuth("ada", "lovelace")
	done, err := ask(client, request, "user")
	if err != nil {
		t.Fatal(err)
	}
	got := w.line(t, "user")
	if done.StatusCode != http.StatusOK || got["ClientUsername"] != "ada" || strings.Contains(w.file(t, "access.log"),
		"lovelace") {
		t.Errorf("status %d, %v", done.StatusCode, got)
	}
}
