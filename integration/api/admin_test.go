package api

import (
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/api/admin"
	"github.com/sluiceproxy/sluice/api/live"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// balanced is a service with two endpoints.
const balanced = `
http:
  routers:
    load: {rule: "Host(` + "`load.test`" + `)", service: load, entryPoints: [open]}
  services:
    load: {loadBalancer: {servers: [{url: "http://${FIRST}"}, {url: "http://${SECOND}"}]}}
`

// administrator sends requests as ann to the administration of a Sluice of startGuarded.
type administrator struct {
	t      *testing.T
	client *harness.Client
	doc    *document
}

// send sends a request with a JSON body, and compares the response with the document.
func (a administrator) send(method, path, body string) harness.Response {
	a.t.Helper()
	request := a.client.Request(method, "/api/admin/"+path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	request.SetBasicAuth("ann", "password")
	answer := a.client.Send(request)
	a.doc.fits(a.t, "", answer)
	return answer
}

// administer drains an endpoint under load, lists and closes connections, and sets the level of the log. reads is a
// client of the API.
func administer(t *testing.T, s *harness.Sluice, reads *harness.Client) {
	t.Helper()
	ann := administrator{
		t, harness.NewClient(t, harness.H1, port(s, "open"), "basic-admin.test", nil), published(t, reads, ""),
	}
	backends := []*harness.Backend{harness.StartBackend(t, "first", nil), harness.StartBackend(t, "second", nil)}
	s.Write("load.yaml", strings.NewReplacer("${FIRST}", backends[0].H1, "${SECOND}", backends[1].H1).Replace(balanced))
	client := harness.NewClient(t, harness.H1, port(s, "open"), "load.test", nil)
	until(t, "the service serves", func() bool { return client.Get("/").StatusCode == http.StatusOK })

	stop, load := underLoad(t, client)
	until(t, "requests to both", func() bool { return backends[0].Seen() > 50 && backends[1].Seen() > 50 })
	first := `"endpoint": "` + backends[0].H1 + `"`
	if answer := ann.send(http.MethodPost, "drains", `{`+first+`, "for": "10m"}`); answer.StatusCode != http.StatusOK {
		t.Fatalf("draining is answered with %d: %s", answer.StatusCode, answer.Text)
	}
	until(t, "the endpoint is drained", func() bool {
		list := decode[[]live.Endpoint](t, reads.Get("/api/endpoints?status=draining&serviceName=load@file"))
		return len(list) == 1 && list[0].Address == backends[0].H1 && list[0].InFlight == 0 &&
			list[0].Pools[0].Reason == "it is drained by hand"
	})
	seen, others := backends[0].Seen(), backends[1].Seen()
	s.Write("other.yaml", "http: {services: {other: {loadBalancer: {servers: [{url: \"http://127.0.0.1:1\"}]}}}}")
	until(t, "another configuration", func() bool {
		return slices.Contains(must(list(t, reads, "/api/http/services?search=other")), "other@file")
	})
	until(t, "requests to the other endpoint", func() bool { return backends[1].Seen() > others+200 })
	if now := backends[0].Seen(); now != seen {
		t.Errorf("the drained endpoint got %d requests", now-seen)
	}
	if drains := decode[[]admin.Drain](t, ann.send(http.MethodGet, "drains", "")); len(drains) != 1 ||
		drains[0].Endpoint != backends[0].H1 {
		t.Errorf("drains: %+v", drains)
	}
	second := `{"service": "load@file", "endpoint": "` + backends[1].H1 + `"}`
	if answer := ann.send(http.MethodPost, "drains", second); answer.StatusCode != http.StatusConflict ||
		!strings.Contains(answer.Text, "load@file") {
		t.Errorf("draining the last endpoint is answered with %d: %s", answer.StatusCode, answer.Text)
	}
	if answer := ann.send(http.MethodDelete, "drains", `{`+first+`}`); answer.StatusCode != http.StatusOK {
		t.Errorf("the end is answered with %d: %s", answer.StatusCode, answer.Text)
	}
	until(t, "requests to both again", func() bool { return backends[0].Seen() > seen+50 })
	s.WaitLog("endpoint drained", "by=ann", backends[0].H1, "for=10m0s")
	s.WaitLog("drain of endpoint ended", "by=ann")

	open := decode[[]api.Connection](t, reads.Get("/api/connections?client=127.0.0.0/8&entryPoint=open"))
	if len(open) == 0 || open[0].Protocol != "http/1.1" || !slices.ContainsFunc(open,
		func(one api.Connection) bool { return one.Requests > 10 }) {
		t.Errorf("connections: %+v", open)
	}
	answer := ann.send(http.MethodPost, "connections/close", `{"entryPoint": "open", "graceful": true}`)
	if closed := decode[admin.Closed](t, answer); closed.Closed+closed.Closing < len(open) || closed.Remaining > 0 {
		t.Errorf("of %d connections are closed: %+v", len(open), closed)
	}
	until(t, "other connections", func() bool {
		now := decode[[]api.Connection](t, reads.Get("/api/connections?entryPoint=open"))
		last := open[len(open)-1].ID
		return len(now) > 0 && now[len(now)-1].ID > last && !slices.ContainsFunc(now, func(one api.Connection) bool {
			return one.ID <= last
		})
	})
	stop()
	if failed := load(); failed > 0 {
		t.Errorf("%d requests failed", failed)
	}
	ann.send(http.MethodPut, "log", `{"subsystem": "entrypoint", "level": "DEBUG", "for": "10m"}`)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", port(s, "open"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	ann.send(http.MethodGet, "log", "")
	s.WaitLog("level=debug", `msg="connection refused"`, "nothing was sent")
	ann.withholds(s, reads)
}

// withholds drains all of a service, of which the log, the endpoints and the list of drains say so.
func (a administrator) withholds(s *harness.Sluice, reads *harness.Client) {
	a.t.Helper()
	const whole = `{"service": "load@file"`
	if answer := a.send(http.MethodPost, "drains", whole+`, "force": true}`); answer.StatusCode != http.StatusOK {
		a.t.Fatalf("draining all is answered with %d: %s", answer.StatusCode, answer.Text)
	}
	s.WaitLog("level=warning", "no endpoint of the service gets requests, and one is drained by hand", "service=load@file")
	until(a.t, "the endpoints say so", func() bool {
		list := decode[[]live.Endpoint](a.t, reads.Get("/api/endpoints?serviceName=load@file"))
		return len(list) == 2 && strings.HasSuffix(list[0].Pools[0].Reason, "; no endpoint of the service gets requests")
	})
	drains := decode[[]admin.Drain](a.t, a.send(http.MethodGet, "drains", ""))
	if len(drains) != 1 || len(drains[0].Unserved) != 1 || drains[0].Unserved[0].Service != "load@file" {
		a.t.Errorf("drains: %+v", drains)
	}
	a.send(http.MethodDelete, "drains", whole+`}`)
}

func must[A, B any](value A, _ B) A { return value }

// underLoad sends requests on four connections until stop, after which failed returns how many were not answered
// with 200.
func underLoad(t *testing.T, client *harness.Client) (stop func(), failed func() int) {
	t.Helper()
	ended := make(chan struct{})
	var work sync.WaitGroup
	failures := make([]int, 4)
	for i := range failures {
		work.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				answer, err := client.Try(client.Request(http.MethodGet, "/", nil))
				if err != nil || answer.StatusCode != http.StatusOK {
					failures[i]++
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { close(ended) })
	t.Cleanup(func() { stop(); work.Wait() })
	return stop, func() int {
		work.Wait()
		sum := 0
		for _, n := range failures {
			sum += n
		}
		return sum
	}
}

// selfServed has services and middlewares lead to the administration, which a loopback entrypoint serves without
// authentication.
func selfServed(t *testing.T, s *harness.Sluice) {
	t.Helper()
	_, at, err := net.SplitHostPort(s.Addr("shut"))
	if err != nil {
		t.Fatal(err)
	}
	direct := harness.NewClient(t, harness.H1, s.Addr("shut"), "loopback-admin.test", nil)
	if got := direct.Get("/api/admin/drains"); got.StatusCode != http.StatusOK {
		t.Errorf("a direct request is answered with %d", got.StatusCode)
	}
	hosts := []string{"127.0.0.1", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"}
	var routers, services strings.Builder
	for i, host := range hosts {
		fmt.Fprintf(&routers, "    self%d: {rule: \"Host(`self%d.test`)\", entryPoints: [open], service: self%d, middlewares: [named]}\n",
			i, i, i)
		fmt.Fprintf(&services, "    self%d: {loadBalancer: {servers: [{url: \"http://%s:%s\"}]}}\n", i, host, at)
	}
	routers.WriteString("    dialed: {rule: Host(`dialed.test`), entryPoints: [open], service: self0, " +
		"middlewares: [limited, signed]}\n")
	s.Write("self.yaml", "http:\n  routers:\n"+routers.String()+"  services:\n"+services.String()+"  middlewares:\n"+
		"    named: {headers: {customRequestHeaders: {Host: loopback-admin.test}}}\n"+
		"    limited: {rateLimit: {average: 1000, burst: 1000, redis: {endpoints: [\"localhost:"+at+"\"]}}}\n"+
		"    signed: {jwt: {jwksUrl: \"http://localhost:"+at+"/api/admin/drains\", issuers: [\"https://id.test\"]}}\n")
	for i, host := range hosts {
		client := harness.NewClient(t, harness.H1, port(s, "open"), fmt.Sprintf("self%d.test", i), nil)
		var got harness.Response
		until(t, "a router to "+host, func() bool {
			got = client.Get("/api/admin/drains")
			return got.StatusCode != http.StatusNotFound
		})
		if got.StatusCode < http.StatusInternalServerError {
			t.Errorf("through %s the administration answers %d: %s", host, got.StatusCode, got.Text)
		}
	}
	const why = "this process listens at that loopback address itself"
	s.WaitLog("request failed", why)
	dialed := harness.NewClient(t, harness.H1, port(s, "open"), "dialed.test", nil)
	request := dialed.Request(http.MethodGet, "/", nil)
	request.Header.Set("Authorization", "Bearer a.b.c")
	if got := dialed.Send(request); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without keys: %d: %s", got.StatusCode, got.Text)
	}
	s.WaitLog("Redis is lost", why)
	s.WaitLog("the key set can't be fetched", why)
}
