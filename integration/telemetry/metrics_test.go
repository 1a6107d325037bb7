package telemetry

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// tally counts requests with the same labels.
type tally struct{ Requests, Received, Sent float64 }

// tallies are by labels.
type tallies struct {
	mutex sync.Mutex
	by    map[string]tally
}

// add counts a request on all levels.
func (s *tallies) add(protocol harness.Protocol, host, method string, code int, kind string, received, sent int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	common := map[string]string{"code": strconv.Itoa(code), "method": method, "protocol": kind}
	levels := map[string]map[string]string{"entrypoint": {"entrypoint": entrypoint(protocol)}}
	if host == "shop.test" {
		levels["router"] = map[string]string{"router": "shop@file", "service": "shop@file"}
		levels["service"] = map[string]string{"service": "shop@file"}
	}
	for level, own := range levels {
		for name, value := range common {
			own[name] = value
		}
		name := level + " " + key(own)
		was := s.by[name]
		s.by[name] = tally{was.Requests + 1, was.Received + float64(received), was.Sent + float64(sent)}
	}
}

// total returns how many requests there were on a level.
func (s *tallies) total(level string) float64 {
	sum := 0.0
	for name, one := range s.by {
		if strings.HasPrefix(name, level+" ") {
			sum += one.Requests
		}
	}
	return sum
}

// exchanges are what is sent over each protocol, and how often.
func exchanges() []struct {
	host, method, path, body string
	times                    int
} {
	return []struct {
		host, method, path, body string
		times                    int
	}{
		{"shop.test", http.MethodGet, "/bytes?size=1000", "", 17},
		{"shop.test", http.MethodGet, "/bytes?size=100000&chunked", "", 3},
		{"shop.test", http.MethodPost, "/", strings.Repeat("x", 1234), 11},
		{"shop.test", http.MethodGet, "/status?code=500", "", 5},
		{"shop.test", http.MethodGet, "/status?code=304", "", 2},
		{"shop.test", http.MethodHead, "/bytes?size=1000", "", 2},
		{"shop.test", "PURGE", "/", "", 1},
		{"lost.test", http.MethodGet, "/", "", 4},
		{"quiet.test", http.MethodGet, "/", "", 6},
	}
}

// send sends all of them at a time.
func (w *world) send(t *testing.T, known *tallies) {
	t.Helper()
	var all sync.WaitGroup
	for _, protocol := range harness.Protocols() {
		for _, one := range exchanges() {
			client := w.client(t, protocol, one.host)
			all.Go(func() {
				for range one.times {
					answer, err := client.Try(client.Request(one.method, one.path, strings.NewReader(one.body)))
					if err != nil {
						t.Errorf("%s %s by %s: %v", one.method, one.path, protocol, err)
						return
					}
					method := one.method
					if method == "PURGE" {
						method = "EXTENSION_METHOD"
					}
					if one.host != "quiet.test" {
						known.add(protocol, one.host, method, answer.StatusCode, "http", len(one.body), len(answer.Text))
					}
				}
			})
		}
	}
	all.Wait()
}

// TestCountsAreExact sends requests of every kind over every protocol, and compares each figure with what was sent.
func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	w := start(t, "metrics: {prometheus: {addRoutersLabels: true}}\n", nil)
	known := &tallies{by: map[string]tally{}}
	w.send(t, known)
	w.stream(t, known)
	var found page
	var wrong []string
	// A request is counted after its client has got the response, on one level after the other.
	harness.Eventually(t, time.Minute, func() bool {
		found = w.scrape(t)
		wrong = known.compare(found)
		return len(wrong) == 0
	}, func() string { return strings.Join(wrong, "\n") })
	if n := len(found.metrics("traefik_router_requests_total", "router=quiet@file")); n > 0 {
		t.Errorf("a router without metrics has %d series", n)
	}
}

// compare returns in what a page differs from what was sent.
func (s *tallies) compare(found page) (wrong []string) {
	counted := map[string]tally{}
	for _, level := range []string{"entrypoint", "router", "service"} {
		prefix := "traefik_" + level
		for _, metric := range found.metrics(prefix + "_requests_total") {
			own := key(labels(metric))
			if strings.Contains(own, "entrypoint=traefik") { // probes before the first configuration
				continue
			}
			one := strings.Split(own, " ")
			counted[level+" "+own] = tally{
				metric.GetCounter().GetValue(), found.value(prefix+"_requests_bytes_total", one...),
				found.value(prefix+"_responses_bytes_total", one...),
			}
			if durations := found.value(prefix+"_request_duration_seconds",
				one...); durations != metric.GetCounter().GetValue() {
				wrong = append(wrong, fmt.Sprintf("%s %s: %v durations of %v requests", level, own, durations,
					metric.GetCounter().GetValue()))
			}
		}
		// Half of the protocols use TLS, with the same number of requests.
		if secure, want := found.value(prefix+"_requests_tls_total", "tls_version=1.3"), s.total(level)/2; secure != want {
			wrong = append(wrong, fmt.Sprintf("%s: %v requests over TLS, want %v", level, secure, want))
		}
	}
	for name, one := range counted {
		if strings.Contains(name, "protocol=websocket") { // Its bytes are frames.
			counted[name] = tally{Requests: one.Requests}
		}
	}
	if diff := cmp.Diff(s.by, counted); diff != "" {
		wrong = append(wrong, "-sent +counted:\n"+diff)
	}
	return wrong
}

// stream has one stream of events over each protocol, and a WebSocket over those of HTTP/1.1.
func (w *world) stream(t *testing.T, known *tallies) {
	t.Helper()
	for _, protocol := range harness.Protocols() {
		client := w.client(t, protocol, "shop.test")
		id := "events-" + entrypoint(protocol) + strconv.FormatBool(protocol.HTTP2())
		stream := w.backend.Stream(id)
		response, err := client.Do(with(client.Request(http.MethodGet, "/events?id="+id, nil), "Accept: text/event-stream"))
		if err != nil {
			t.Fatal(err)
		}
		harness.Await(t, stream.Begun, "events")
		harness.Send(t, stream.Events, "one", "an event")
		close(stream.Events)
		_, sent, err := harness.Hash(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		known.add(protocol, "shop.test", http.MethodGet, http.StatusOK, "sse", 0, int(sent))
		if protocol.HTTP2() {
			continue
		}
		if err := client.WebSocket("/websocket").CloseNow(); err != nil {
			t.Fatal(err)
		}
		known.add(protocol, "shop.test", http.MethodGet, http.StatusSwitchingProtocols, "websocket", 0, 0)
	}
}
