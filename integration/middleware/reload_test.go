package middleware

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// stateful is a router for each kind of state, beside one that has nothing to do with them.
const stateful = `
http:
  routers:
    limit: {rule: "PathPrefix(@LIMITPATH@)", service: SERVICE, middlewares: [limit]}
    flight: {rule: "Path(@/hang@)", service: SERVICE, middlewares: [flight]}
    breaker: {rule: "Path(@/status@)", service: SERVICE, middlewares: [breaker]}
    joint-a: {rule: "PathPrefix(@/joint-a@)", service: SERVICE, middlewares: [joint]}
    joint-b: {rule: "PathPrefix(@/joint-b@)", service: SERVICE, middlewares: [joint]}
    apart-a: {rule: "PathPrefix(@/apart-a@)", service: SERVICE, middlewares: [apart]}
    apart-b: {rule: "PathPrefix(@/apart-b@)", service: SERVICE, middlewares: [apart]}
    behind: {rule: "PathPrefix(@/behind@)", service: limited}
    unrelated: {rule: "Path(@UNRELATED@)", service: SERVICE}
  middlewares:
    limit: {rateLimit: {average: 1, period: 1h, burst: LIMITBURST}}
    flight: {inFlightReq: {amount: FLIGHT}}
    breaker: {circuitBreaker: {expression: "ResponseCodeRatio(500, 600, 0, 600) > 0.5", fallbackDuration: FALLBACK}}
    joint: {rateLimit: {average: 1, period: 1h, burst: 3, shared: true}}
    apart: {rateLimit: {average: 1, period: 1h, burst: 3}}
    service: {rateLimit: {average: 1, period: 1h, burst: 3}}
  services:
    one: {loadBalancer: {servers: [SERVERS]}}
    other: {loadBalancer: {servers: [{url: "http://${ONE}"}], passHostHeader: false}}
    limited: {loadBalancer: {servers: [SERVERS]}, middlewares: [service]}
`

// edition returns the configuration with changes, as old and new in turn.
func edition(changes ...string) string {
	text := strings.NewReplacer(changes...).Replace(stateful)
	return strings.NewReplacer(
		"LIMITPATH", "/limit", "UNRELATED", "/unrelated", "SERVICE", "one", "LIMITBURST", "3", "FLIGHT", "2", "FALLBACK",
		"1h",
		"SERVERS", `{url: "http://${ONE}"}`, "@", "`",
	).Replace(text)
}

// TestStateLivesOn edits the file in every way that leaves the definitions of middlewares alone: buckets stay empty, a
// breaker stays tripped, and requests under way go on counting. Then it edits the definitions, and each one begins
// anew, alone.
func TestStateLivesOn(t *testing.T) {
	t.Parallel()
	one, two := harness.StartBackend(t, "one", nil), harness.StartBackend(t, "two", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": edition()},
		Vars: map[string]string{"ONE": one.H1, "TWO": two.H1},
	})
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	release := holdTwo(t, client, one)
	useUp(t, client)
	for _, edit := range []struct{ name, text string }{
		{"an unrelated route", edition("UNRELATED", "/elsewhere")},
		{"the rule of the router", edition("LIMITPATH", "/limi")},
		{"the router's service", edition("SERVICE", "other")},
		{"an endpoint more", edition("SERVERS", `{url: "http://${ONE}"}, {url: "http://${TWO}"}`)},
		{"an endpoint for another", edition("SERVERS", `{url: "http://${TWO}"}`)},
	} {
		t.Run(edit.name, func(t *testing.T) {
			client := client.For(t)
			s.Apply(func() { s.Write("all.yaml", edit.text) })
			expectUsedUp(t, client, one, two)
			expectTold(t, s)
		})
	}

	t.Run("definitions", func(t *testing.T) { changeDefinitions(t, s, client.For(t)) })
	release()
	until(t, "nothing is in flight", func() bool {
		return levels(ask(t, s), "flight@file") == "router flight@file: in_flight=0"
	})
}

// changeDefinitions changes one definition after another.
func changeDefinitions(t *testing.T, s *harness.Sluice, client *harness.Client) {
	t.Helper()
	var changes []string
	change := func(from, to string) {
		t.Helper()
		changes = append(changes, from, to)
		s.Apply(func() { s.Write("all.yaml", edition(changes...)) })
	}
	change("LIMITBURST", "5")
	if n := passed(t, client, 9, http.StatusTooManyRequests, "/limit"); n != 5 {
		t.Errorf("of another limit %d requests passed, want 5", n)
	}
	if got := get(t, client, "/status?code=200"); got != http.StatusServiceUnavailable {
		t.Errorf("the unchanged breaker: status %d", got)
	}
	change("FALLBACK", "2h")
	if got := get(t, client, "/status?code=200"); got != http.StatusOK {
		t.Errorf("another breaker: status %d", got)
	}
	change("FLIGHT", "4")
	if got := levels(ask(t, s), "flight@file"); got != "router flight@file: in_flight=0" {
		t.Errorf("of another count: %s", got)
	}
	if n := passed(t, client, 3, http.StatusTooManyRequests, "/limit"); n != 0 {
		t.Errorf("of the limit, which was used up again, %d requests passed", n)
	}
}

// holdTwo begins as many requests as may be under way at a time. The function that is returned ends them, and expects
// their answers.
func holdTwo(t *testing.T, client *harness.Client, backend *harness.Backend) (release func()) {
	t.Helper()
	type result struct {
		harness.Response
		err error
	}
	streams, results := make([]*harness.Stream, 2), make(chan result, 2)
	for i := range streams {
		id := fmt.Sprint("held", i)
		streams[i] = backend.Stream(id)
		go func() {
			answer, err := client.Try(client.Request(http.MethodGet, "/hang?id="+id, nil))
			results <- result{answer, err}
		}()
		harness.Await(t, streams[i].Begun, "a request is under way")
	}
	return func() {
		t.Helper()
		for _, stream := range streams {
			close(stream.Events)
			if got := harness.Await(t, results, "the end of a request"); got.err != nil || got.StatusCode != http.StatusOK ||
				got.Text != "late" {
				t.Errorf("a request that was under way all the time: %v, %v", got.Response, got.err)
			}
		}
	}
}

// useUp empties all buckets and trips the breaker. Where state is apart, the other owner's is left as it is.
func useUp(t *testing.T, client *harness.Client) {
	t.Helper()
	for _, path := range []string{"/limit", "/joint-a", "/apart-a", "/behind"} {
		if n := passed(t, client, 9, http.StatusTooManyRequests, path); n != 3 {
			t.Errorf("%s: %d requests passed, want 3", path, n)
		}
	}
	until(t, "the breaker trips", func() bool {
		return get(t, client, "/status?code=500") == http.StatusServiceUnavailable
	})
}

// expectUsedUp checks the state after useUp, and that refused requests do not reach the endpoints.
func expectUsedUp(t *testing.T, client *harness.Client, backends ...*harness.Backend) {
	t.Helper()
	before := seen(backends)
	got := map[string]int{}
	for _, path := range []string{"/limit", "/hang", "/status?code=200", "/joint-a", "/joint-b", "/apart-a", "/behind"} {
		got[path] = get(t, client, path)
	}
	want := map[string]int{
		"/limit": 429, "/hang": 429, "/status?code=200": 503, "/joint-a": 429, "/joint-b": 429, "/apart-a": 429,
		"/behind": 429,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if after := seen(backends); after != before {
		t.Errorf("the endpoints got %d requests", after-before)
	}
}

func seen(backends []*harness.Backend) int64 {
	n := int64(0)
	for _, backend := range backends {
		n += backend.Seen()
	}
	return n
}

// expectTold compares the state in API and metrics.
func expectTold(t *testing.T, s *harness.Sluice) {
	t.Helper()
	found := ask(t, s)
	for name, want := range map[string]string{
		"limit@file":   "router limit@file: sources=1",
		"flight@file":  "router flight@file: in_flight=2",
		"breaker@file": "router breaker@file: tripped",
		"joint@file":   ": sources=1", // Shared.
		"apart@file":   "router apart-a@file: sources=1, router apart-b@file: sources=0",
		"service@file": "service limited@file: sources=1",
	} {
		if got := levels(found, name); got != want {
			t.Errorf("/api/middlewares says of %s: %s; want %s", name, got, want)
		}
	}
	for metric, want := range map[string]string{
		`sluice_middleware_level{level="sources",middleware="limit@file"}`:    "1",
		`sluice_middleware_level{level="in_flight",middleware="flight@file"}`: "2",
		`sluice_middleware_states{middleware="breaker@file",state="tripped"}`: "1",
		`sluice_middleware_level{level="sources",middleware="apart@file"}`:    "1",
	} {
		if got := found.line(metric); got != want {
			t.Errorf("/metrics: %s is %q, want %q", metric, got, want)
		}
	}
	for name, event := range map[string]string{
		"limit@file": "refused", "flight@file": "refused", "breaker@file": "refused", "joint@file": "refused",
		"service@file": "refused",
	} {
		count := found.api[name].Counts[event]
		metric := fmt.Sprintf(`sluice_middleware_events_total{event=%q,middleware=%q}`, event, name)
		if got := found.line(metric); count == 0 || got != fmt.Sprint(count) {
			t.Errorf("%s: the API counts %d, and %s is %q", name, count, metric, got)
		}
	}
}

// levels writes the owners of a middleware with their states and levels on one line.
func levels(found middlewareState, name string) string {
	var owners []string
	for _, owner := range found.api[name].Owners {
		var parts []string
		if owner.State != "" {
			parts = append(parts, owner.State)
		}
		for level, value := range owner.Levels {
			parts = append(parts, fmt.Sprintf("%s=%d", level, value))
		}
		owners = append(owners, owner.Owner+": "+strings.Join(parts, " "))
	}
	return strings.Join(owners, ", ")
}
