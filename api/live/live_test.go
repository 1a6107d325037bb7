package live

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// states is a State that the test replaces.
type states struct {
	now atomic.Pointer[pipeline.State]
}

func newStates(first *pipeline.State) *states {
	s := new(states)
	s.now.Store(first)
	return s
}

func (s *states) State() *pipeline.State { return s.now.Load() }

// nodes are endpoints that are looked at one by one.
type nodes struct {
	asked  EndpointQuery
	looked int
}

func (n *nodes) Endpoints(query EndpointQuery) []func() Endpoint {
	n.asked = query
	var all []func() Endpoint
	for _, address := range []string{"192.0.2.1:80", "192.0.2.2:80", "192.0.2.3:80"} {
		all = append(all, func() Endpoint {
			n.looked++
			return Endpoint{
				Address: address, Source: "kubernetes", UID: "u", InFlight: 2, ConnectFailures: 1,
				Pools: []EndpointPool{{
					Protocol: "http", Service: "s@file", State: "ejected", Reason: "requests to it failed: status 502",
					BackSeconds:    1.5,
					LatencySeconds: .02, SlowStart: 1,
					Sticky: "abc", Requests: 9, Errors: 2, Timed: 7, Seconds: 1.5,
				}},
				Upstreams: []EndpointUpstream{{Scheme: "http", IdleConnections: 3}},
			}
		})
	}
	return all
}

// counts are the traffic of a test.
type counts struct{ many int }

func (c counts) Traffic(kind metrics.TrafficKind, names []string) []metrics.Traffic {
	var list []metrics.Traffic
	for _, name := range names {
		list = append(list, metrics.Traffic{Name: name, Requests: uint64(kind)})
	}
	for i := range c.many {
		list = append(list, metrics.Traffic{Name: string(rune('a'+i%26)) + strings.Repeat("x", i/26), Requests: uint64(i)})
	}
	return list
}

func (counts) History() metrics.TrafficHistory { return metrics.TrafficHistory{Interval: 2} }

func mounted(options Options) (*Live, http.Handler) {
	if options.Logger == nil {
		options.Logger = telemetry.Discard{}
	}
	live, root := New(options), mux.NewRouter()
	live.Mount(root, "")
	return live, root
}

func ask(t *testing.T, handler http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, http.NoBody))
	return recorder
}

func TestEndpoints(t *testing.T) {
	all := &nodes{}
	_, handler := mounted(Options{State: newStates(&pipeline.State{}), Endpoints: all})
	answer := ask(t, handler, "/api/endpoints?page=2&per_page=1&search=192&status=ejected&serviceName=s%40file&protocol=tcp")
	want := `[{"address":"192.0.2.2:80","source":"kubernetes","uid":"u","inFlight":2,"connectFailures":1,` +
		`"pools":[{"protocol":"http","service":"s@file","state":"ejected","reason":"requests to it failed: status ` +
		`502","backSeconds":1.5,"share":0,` +
		`"latencySeconds":0.02,"slowStart":1,"sticky":"abc","requests":9,"errors":2,"timed":7,"seconds":1.5}],"upstreams":[{"scheme":"http","host":"","idleConnections":3}]}]` + "\n"
	if diff := cmp.Diff(want, answer.Body.String()); answer.Code != http.StatusOK || diff != "" {
		t.Errorf("%d (-want +got):\n%s", answer.Code, diff)
	}
	if next := answer.Header().Get("X-Next-Page"); next != "3" {
		t.Errorf("the next page is %q", next)
	}
	query := EndpointQuery{Search: "192", Status: "ejected", Protocol: "tcp", Service: "s@file"}
	if diff := cmp.Diff(query, all.asked); diff != "" {
		t.Errorf("the question (-want +got):\n%s", diff)
	}
	if all.looked != 1 {
		t.Errorf("%d endpoints were looked at for a page of one", all.looked)
	}
	for _, bad := range []string{
		"?page=9", "?page=x", "?per_page=-1", "?search=%zz", "?status=healthy", "?protocol=sctp",
	} {
		if answer := ask(t, handler, "/api/endpoints"+bad); answer.Code != http.StatusBadRequest ||
			!strings.Contains(answer.Body.String(), `{"message":`) {
			t.Errorf("%s: %d %s", bad, answer.Code, answer.Body)
		}
	}
}

func TestTraffic(t *testing.T) {
	_, handler := mounted(Options{State: newStates(&pipeline.State{}), Traffic: counts{}})
	var overview Overview
	answer := ask(t, handler, "/api/traffic")
	if err := json.Unmarshal(answer.Body.Bytes(), &overview); err != nil {
		t.Fatal(err)
	}
	if age := time.Since(time.UnixMilli(overview.Time)); age < -time.Second || age > time.Minute ||
		overview.History.Interval != 2 {
		t.Errorf("the overview is %s", answer.Body)
	}
	if !strings.Contains(answer.Body.String(), `"entryPoints":[]`) {
		t.Errorf("no entrypoints are %s", answer.Body)
	}
	var routers RouterTraffic
	if err := json.Unmarshal(ask(t, handler, "/api/traffic/routers?name=b%40file&name=a%40file").Body.Bytes(),
		&routers); err != nil {
		t.Fatal(err)
	}
	if len(routers.Routers) != 2 || routers.Routers[0].Requests != uint64(metrics.TrafficRouters) {
		t.Errorf("routers: %+v", routers)
	}
	var services ServiceTraffic
	if err := json.Unmarshal(ask(t, handler, "/api/traffic/services?name=s%40file").Body.Bytes(), &services); err != nil {
		t.Fatal(err)
	}
	if len(services.Services) != 1 || services.Services[0].Requests != uint64(metrics.TrafficServices) {
		t.Errorf("services: %+v", services)
	}
	for _, bad := range []string{"?name=%zz", "?" + strings.Repeat("name=a&", maxNames+1)} {
		if answer := ask(t, handler, "/api/traffic/routers"+bad); answer.Code != http.StatusBadRequest {
			t.Errorf("%.20s: %d %s", bad, answer.Code, answer.Body)
		}
	}
}

func TestTrafficOfTheBusiest(t *testing.T) {
	list := busiest(counts{many: maxNames + 100}.Traffic(metrics.TrafficRouters, nil))
	if len(list) != maxNames {
		t.Fatalf("%d are listed", len(list))
	}
	for i, one := range list {
		if one.Requests < 100 {
			t.Errorf("%s with %d requests is among the busiest", one.Name, one.Requests)
		}
		if i > 0 && list[i-1].Name >= one.Name {
			t.Errorf("%s comes after %s", one.Name, list[i-1].Name)
		}
	}
}

func TestOnlyWhatIsThereIsServed(t *testing.T) {
	_, handler := mounted(Options{State: newStates(&pipeline.State{})})
	for _, path := range []string{"/api/endpoints", "/api/traffic", "/api/traffic/routers"} {
		if answer := ask(t, handler, path); answer.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.Code)
		}
	}
}

// twoGenerations are two generations, the second of which changes a secret, a number and a list.
func twoGenerations() []pipeline.Generation {
	before := &dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{"anna:$2y$05$secretbefore"}, Realm: "one"}}
	after := &dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{
		"anna:$2y$05$secretafter",
		"bert:$2y$05$another",
	}, Realm: "two"}}
	ref := dynamic.Ref{Kind: dynamic.KindMiddleware, Name: "auth@file"}
	return []pipeline.Generation{
		{
			Number: 6, Activated: time.Unix(1, 0), Added: 250, More: 50, MoreVerdicts: 9,
			Lags: map[string]time.Duration{"file": 1500 * time.Microsecond},
		},
		{
			Number: 7, Activated: time.Unix(2, 0), Compile: 2 * time.Millisecond, Changed: 1,
			Changes: []pipeline.Change{{
				Ref: ref, Kind: pipeline.ObjectChanged, Before: before, After: after, Origin: dynamic.Origin{
					File: "a.yaml",
					Line: 3,
				},
			}},
			Worse: []dynamic.Verdict{{
				Ref: ref, Status: dynamic.Degraded, Reason: "so so",
				Origin: dynamic.Origin{File: "a.yaml"},
			}},
			Recovered: []dynamic.Verdict{{Ref: dynamic.Ref{Kind: dynamic.KindRouter, Name: "r@file"}}},
		},
	}
}

const seventh = `{"generation":7,"activated":"1970-01-01T00:00:02Z","compileSeconds":0.002,"lagSeconds":{},` +
	`"added":0,"changed":1,"removed":0,` +
	`"changes":[{"kind":"middleware","name":"auth@file","provider":"file","change":"changed","origin":"a.yaml:3"}],"more":0,` +
	`"refused":[{"kind":"middleware","name":"auth@file","status":"degraded","code":"Degraded","reason":"so ` +
	`so","origin":"a.yaml"}],` +
	`"recovered":[{"kind":"router","name":"r@file"}],"moreVerdicts":0}`

func TestGenerations(t *testing.T) {
	_, handler := mounted(Options{State: newStates(&pipeline.State{Generations: twoGenerations()})})
	want := `[` + seventh +
		`,{"generation":6,"activated":"1970-01-01T00:00:01Z","compileSeconds":0,"lagSeconds":{"file":0.0015},` +
		`"added":250,"changed":0,"removed":0,"changes":[],"more":50,"refused":[],"recovered":[],"moreVerdicts":9}]` + "\n"
	if diff := cmp.Diff(want, ask(t, handler, "/api/generations").Body.String()); diff != "" {
		t.Errorf("generations (-want +got):\n%s", diff)
	}
	answer := ask(t, handler, "/api/generations/7")
	diff := `,"diff":[` +
		`{"path":"basicAuth.realm","before":"one","after":"two"},` +
		`{"path":"basicAuth.users[0]","before":"xxxx","after":"xxxx"},` +
		`{"path":"basicAuth.users[1]","before":null,"after":"xxxx"}]`
	want = strings.Replace(seventh, `"a.yaml:3"`, `"a.yaml:3"`+diff, 1) + "\n"
	if diff := cmp.Diff(want, answer.Body.String()); diff != "" {
		t.Errorf("generation 7 (-want +got):\n%s", diff)
	}
	for target, status := range map[string]int{
		"/api/generations/5": 404, "/api/generations/x": 400,
		"/api/generations/-1": 400,
	} {
		if answer := ask(t, handler, target); answer.Code != status || !strings.Contains(answer.Body.String(),
			`{"message":`) {
			t.Errorf("%s: %d %s", target, answer.Code, answer.Body)
		}
	}
	_, handler = mounted(Options{State: newStates(&pipeline.State{})})
	if answer := ask(t, handler, "/api/generations"); answer.Body.String() != "[]\n" {
		t.Errorf("no generations are %s", answer.Body)
	}
}
