package reload

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	reloads  = 200
	requests = 20000
	streams  = 50
	workers  = 6
)

// changing returns version n of the configuration. Every router changes with it, in its rule, its priority and a
// middleware that it uses; the services, and so the pools, never do.
func changing(n int) string {
	var routers strings.Builder
	for host, service := range map[string]string{"load": "trio", "turn": "turns", "stream": "one", "grpc": "grpc"} {
		fmt.Fprintf(&routers,
			"    %s: {rule: \"Host(`%s.test`) && !Path(`/never-%d`)\", priority: %d, service: %s, middlewares: [version]}\n",
			host, host, n, 100+n%7, service)
	}
	return fmt.Sprintf(`
http:
  routers:
%s
  middlewares: {version: {headers: {customResponseHeaders: {X-Version: "%d"}}}}
  services:
    trio: {loadBalancer: {servers: [{url: "http://${A}"}, {url: "http://${B}"}, {url: "http://${C}"}]}}
    turns: {loadBalancer: {servers: [{url: "http://${A}"}, {url: "http://${B}"}, {url: "http://${C}"}]}}
    one: {loadBalancer: {servers: [{url: "http://${A}"}]}}
    grpc: {loadBalancer: {servers: [{url: "h2c://${GRPC}"}]}}
`, routers.String(), n)
}

// TestReloadLosesNothing changes every router 200 times, by renames and by writing in place, during requests and
// streams. No request fails, no stream breaks, and round robin continues for a sequential client.
func TestReloadLosesNothing(t *testing.T) {
	vars := map[string]string{"WATCH": "true"}
	var first *harness.Backend
	for _, name := range []string{"C", "B", "A"} {
		first = harness.StartBackend(t, name, nil)
		vars[name] = first.H1
	}
	vars["GRPC"] = first.H2C
	s := harness.Start(t, harness.Setup{Static: static, Dynamic: map[string]string{"all.yaml": changing(0)}, Vars: vars})

	open := openStreams(t, s, first)
	var busy sync.WaitGroup
	done := make(chan struct{})
	var sent atomic.Int64
	for i := range workers {
		protocol := []harness.Protocol{harness.H1, harness.H2C}[i%2]
		client := harness.NewClient(t, protocol, s.Addr("web"), "load.test", nil)
		busy.Go(func() { load(t, client, done, &sent) })
	}
	turns := make(chan string, 1)
	busy.Go(func() { turns <- takeTurns(t, harness.NewClient(t, harness.H1, s.Addr("web"), "turn.test", nil), done) })

	probe := harness.NewClient(t, harness.H1, s.Addr("web"), "load.test", nil)
	began := time.Now()
	for n := 1; n <= reloads; n++ {
		if n%2 == 0 {
			s.Write("all.yaml", changing(n))
		} else {
			s.Overwrite("all.yaml", changing(n))
		}
		await(t, probe, "/", answersWith(fmt.Sprint(n)))
		open[n%len(open)].converse(t, n)
	}
	took := time.Since(began)
	for sent.Load() < requests && !t.Failed() {
		load(t, probe, closed(), &sent)
	}
	close(done)
	busy.Wait()
	for i, stream := range open {
		stream.converse(t, i)
		stream.close(t)
	}
	if n := expectTurns(t, <-turns); n < reloads {
		t.Errorf("the sequential client sent only %d requests", n)
	}
	for line := range strings.Lines(s.Log.String()) {
		if failed(line) {
			t.Errorf("the log speaks of failed requests: %s", line)
		}
	}
	t.Logf("%d reloads in %v under %d requests and %d streams", reloads, took, sent.Load(), len(open))
}

// failed reports whether a line of the log is about failed requests, except for probes before the first table, which
// find no router in generation 0.
func failed(line string) bool {
	none := strings.Contains(line, " code=no_router ")
	early := none && strings.Contains(line, " generation=0") || none && strings.Contains(line, "more requests failed")
	return (strings.Contains(line, "request failed") || strings.Contains(line, "requests failed")) && !early
}

func TestLinesThatSpeakOfFailedRequests(t *testing.T) {
	const head = `time="2026-01-01T00:00:00Z" level=info msg="`
	for line, want := range map[string]bool{
		`request failed" status=404 code=no_router method=GET generation=0`:         false,
		`request failed" status=404 code=no_router method=GET generation=1`:         true,
		`request failed" status=502 code=endpoint_refused generation=0`:             true,
		`more requests failed" status=4xx code=no_router count=3 during=10s`:        false,
		`more requests failed" status=5xx code=endpoint_refused count=3 during=10s`: true,
		`configuration applied" generation=7`:                                       false,
	} {
		if failed(head+line+"\n") != want {
			t.Errorf("%s: not %v", line, want)
		}
	}
}

func closed() chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}

// load sends requests until done is closed, and at least one. Every one of them must succeed.
func load(t *testing.T, client *harness.Client, done <-chan struct{}, sent *atomic.Int64) {
	for {
		request := client.Request(http.MethodPost, "/echo", strings.NewReader("a body"))
		got, err := client.Try(request)
		if err != nil || got.StatusCode != http.StatusOK || got.Header.Get("X-Version") == "" || got.Echo(t).BodyLength != 6 {
			t.Errorf("request %d by %s: %+v, %v", sent.Load(), client.Protocol, got, err)
			return
		}
		sent.Add(1)
		select {
		case <-done:
			return
		default:
		}
	}
}

// takeTurns sends one request after another, and returns the endpoints.
func takeTurns(t *testing.T, client *harness.Client, done <-chan struct{}) string {
	var seen strings.Builder
	for {
		got, err := client.Try(client.Request(http.MethodGet, "/", nil))
		if err != nil || got.StatusCode != http.StatusOK {
			t.Errorf("sequential request: %+v, %v", got, err)
			return seen.String()
		}
		seen.WriteString(got.Header.Get("X-Backend"))
		select {
		case <-done:
			return seen.String()
		default:
		}
	}
}

// expectTurns expects that three endpoints answered in turn, and returns how often. The first turn is a random one.
func expectTurns(t *testing.T, seen string) int {
	t.Helper()
	for i := 3; i < len(seen); i++ {
		if seen[i] != seen[i-3] {
			t.Errorf("the turn broke at request %d: %s", i, seen[max(0, i-6):min(len(seen), i+6)])
			break
		}
	}
	if len(seen) < 3 || seen[0] == seen[1] || seen[1] == seen[2] || seen[0] == seen[2] {
		t.Errorf("three endpoints do not take turns: %.20s", seen)
	}
	return len(seen)
}
