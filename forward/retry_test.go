package forward_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
)

// sends is a request of a client.
type sends struct {
	name, method string
	// size is that of the body, chunked whether its length is unknown.
	size    int
	chunked bool
}

func (s sends) request(t *testing.T, url string) (*http.Request, string) {
	t.Helper()
	text := strings.Repeat("0123456789abcdef", s.size/16)
	var body io.Reader
	if s.size > 0 {
		body = strings.NewReader(text)
	}
	if s.chunked {
		body = iotest.OneByteReader(io.MultiReader(body))
	}
	r := request(t, s.method, url+"/path", body)
	if s.chunked {
		r.ContentLength = -1
	}
	r.Header.Set("X-Forwarded-For", "192.0.2.7")
	r.Header.Set("Cookie", "own=1")
	return r, fmt.Sprintf("%s /path %q <nil>", s.method, text)
}

var (
	get     = sends{name: "GET", method: http.MethodGet}
	put     = sends{name: "PUT", method: http.MethodPut, size: 160}
	chunks  = sends{name: "PUT chunked", method: http.MethodPut, size: 160, chunked: true}
	large   = sends{name: "PUT large", method: http.MethodPut, size: 50 << 10}
	beyond  = sends{name: "PUT beyond", method: http.MethodPut, size: 1 << 20}
	without = sends{name: "POST without", method: http.MethodPost}
	post    = sends{name: "POST", method: http.MethodPost, size: 160}
)

// TestTries plays every failure to every kind of request over every protocol.
func TestTries(t *testing.T) {
	failures := []struct {
		name string
		part func(c *endpoints) scenario
		// body: the whole body has been read; h1: only HTTP/1.1 can fail this way; begun: the client has got a part of
		// the response.
		body, h1, begun bool
	}{
		{name: "closes at once", part: func(*endpoints) scenario { return closes }},
		{name: "closes after the body", part: func(*endpoints) scenario { return reads(closes) }, body: true},
		{name: "resets", part: func(*endpoints) scenario { return reads(resets) }, body: true},
		{name: "breaks off", part: func(*endpoints) scenario { return reads(breaksOff) }, body: true},
		{name: "refuses", part: func(*endpoints) scenario { return reads(fails(503)) }, body: true},
		{name: "refuses at once", part: func(*endpoints) scenario { return fails(503) }},
		{name: "half a head", part: func(*endpoints) scenario {
			return reads(writes("HTTP/1.1 200 OK\r\nX-Bad: yes\r\nSet-Coo"))
		}, body: true, h1: true},
		{name: "nonsense", part: func(*endpoints) scenario { return reads(writes("Bad.\r\n\r\n")) }, body: true, h1: true},
		{name: "hint and end", part: func(*endpoints) scenario { return reads(hints(breaksOff)) }, body: true, begun: true},
		{name: "hint and refusal", part: func(*endpoints) scenario {
			return reads(hints(fails(503)))
		}, body: true, begun: true},
		{name: "half a body", part: func(*endpoints) scenario { return reads(begins(0)) }, body: true, begun: true},
	}
	for front, upstreams := range map[string][]string{"h1": {"h1", "h2c"}, "h2": {"h1", "h2"}} {
		for _, upstream := range upstreams {
			for _, failure := range failures {
				for _, what := range []sends{get, put, chunks, large, beyond, without, post} {
					if failure.h1 && upstream != "h1" {
						continue
					}
					// An endpoint that does not read may be given up before or after so much is read of a large body that it is not
					// kept.
					if what == beyond && !failure.body {
						continue
					}
					again := what.method != http.MethodPost && !failure.begun && what != beyond
					t.Run(strings.Join([]string{front, upstream, failure.name, what.name}, " "), func(t *testing.T) {
						endpoints := newEndpoints()
						endpoints.parts = []scenario{failure.part(endpoints), good}
						options := forward.Options{FlushInterval: -1, Retry: statuses(t, "503")}
						s := setup{front: front, upstream: upstream, options: options}
						tryOnce(t, newServers(t, s, 3, endpoints), endpoints, what, again)
					})
				}
			}
		}
	}
}

func tryOnce(t *testing.T, g *rig, endpoints *endpoints, what sends, again bool) {
	r, want := what.request(t, g.url)
	response, err := g.client.Do(r)
	record := g.record(t)
	g.settledDown(t)
	endpoints.distinct(t)
	if err == nil {
		defer response.Body.Close() //nolint:errcheck // a test's
	}
	if !again {
		equal(t, "tries", endpoints.tries(), 1)
		equal(t, "recorded tries", record.Tries, 1)
		if err == nil && response.StatusCode == http.StatusOK && response.Header.Get("Content-Length") != "100" {
			t.Errorf("the client got an answer from nowhere: %v", response.Header)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	unharmed(t, response, string(body), want)
	equal(t, "recorded", fmt.Sprint(record.Tries, record.Status, record.Reason), "2 200")
	equal(t, "endpoint", record.Endpoint, endpoints.by[1])
	received := endpoints.requests()
	equal(t, "the second request's head", received[1].Header, received[0].Header)
	equal(t, "length", received[1].ContentLength, received[0].ContentLength)
	if got := received[1].Header.Get("X-Forwarded-For"); got != "192.0.2.7, 127.0.0.1" {
		t.Errorf("X-Forwarded-For is %q", got)
	}
}

// TestRefusedStatusReachesTheClient when there is no other try, with all that belongs to it.
func TestRefusedStatusReachesTheClient(t *testing.T) {
	for _, upstream := range []string{"h1", "h2c"} {
		for name, test := range map[string]struct {
			endpoints, tries int
			policy           func(*retry.Policy)
			what             sends
		}{
			"no other endpoint": {1, 1, func(*retry.Policy) {}, put},
			"all refuse":        {2, 2, func(*retry.Policy) {}, put},
			"enough tries":      {3, 2, func(p *retry.Policy) { p.Attempts = 1 }, put},
			"not idempotent":    {2, 1, func(*retry.Policy) {}, post},
			"too large":         {2, 1, func(p *retry.Policy) { p.MaxBody = 100 }, put},
			"no more time":      {2, 1, func(p *retry.Policy) { p.Timeout = 1 }, put},
			"again":             {2, 3, func(p *retry.Policy) { p.Again = true }, put},
			"any method":        {2, 2, func(p *retry.Policy) { p.NonIdempotent = true }, post},
		} {
			t.Run(upstream+" "+name, func(t *testing.T) {
				policy := statuses(t, "500-599")
				test.policy(policy)
				endpoints := newEndpoints(reads(fails(503)))
				g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: policy}}, test.endpoints, endpoints)
				r, _ := test.what.request(t, g.url)
				response, body := g.do(t, r)
				equal(t, "status", response.StatusCode, 503)
				equal(t, "body", body, "bad")
				equal(t, "cookies", response.Header["Set-Cookie"], []string{"bad=1"})
				equal(t, "trailers", response.Trailer, http.Header{"X-Bad-Trailer": {"yes"}})
				equal(t, "tries", endpoints.tries(), test.tries)
				record := g.record(t)
				equal(t, "recorded", fmt.Sprint(record.Tries, record.Status), fmt.Sprint(test.tries, 503))
				g.settledDown(t)
			})
		}
	}
}

// TestNothingSent goes to another endpoint whatever the method, since there is no connection to the first.
func TestNothingSent(t *testing.T) {
	for _, upstream := range []string{"http", "h2c", "https"} {
		for _, what := range []sends{get, put, chunks, large, beyond, without, post} {
			t.Run(upstream+" "+what.name, func(t *testing.T) {
				endpoints := newEndpoints(good)
				protocol := map[string]string{"http": "h1", "h2c": "h2c", "https": "h2"}[upstream]
				g := newServers(t, setup{upstream: protocol, options: forward.Options{Retry: retryAll()}, dead: 1}, 1, endpoints)
				tries, requests := 0, 0
				for ; tries == requests && requests < 100; requests++ { // Until one begins with the dead endpoint.
					r, want := what.request(t, g.url)
					response, body := g.do(t, r)
					unharmed(t, response, body, want)
					record := g.record(t)
					tries += record.Tries
				}
				equal(t, "tries", tries, requests+1)
				equal(t, "requests", endpoints.tries(), requests)
				equal(t, "retries", int(g.pool.Counters().Retries.Load()), 1)
				g.settledDown(t)
			})
		}
	}
}

// TestNoEndpointLeft answers for the last endpoint, and records how many were tried.
func TestNoEndpointLeft(t *testing.T) {
	g := newServers(t, setup{options: forward.Options{Retry: retryAll()}, dead: 3}, 0, nil)
	response, body := g.get(t, "/")
	equal(t, "answer", fmt.Sprint(response.StatusCode, " ", body), "502 Bad Gateway")
	record := g.record(t)
	equal(t, "recorded", fmt.Sprint(record.Tries, record.Status), "3 502")
	if !strings.HasSuffix(record.Reason, "(nothing sent); 3 tries") {
		t.Errorf("the reason is %q", record.Reason)
	}
	g.settledDown(t)

	g = newServers(t, setup{options: forward.Options{Retry: retryAll()}, dead: 2}, 0, nil)
	g.get(t, "/")
	if record = g.record(t); !strings.HasSuffix(record.Reason,
		"; 2 tries; not tried again: no other endpoint may answer") {
		t.Errorf("the reason is %q", record.Reason)
	}
}

// TestBudget lets a pool that fails altogether have no more than its reserve.
func TestBudget(t *testing.T) {
	endpoints := newEndpoints(breaksOff)
	g := newServers(t, setup{options: forward.Options{Retry: retryAll()}}, 3, endpoints)
	const sent = 100
	spent := 0
	for range sent {
		g.get(t, "/")
		if strings.HasSuffix(g.record(t).Reason, "not tried again: the retry budget is spent") {
			spent++
		}
	}
	// The reserve is ten, and may grow by one a second.
	if tries := endpoints.tries(); tries < sent+10 || tries > sent+sent/5 || spent == 0 {
		t.Errorf("%d requests became %d, %d of them for want of budget", sent, tries, spent)
	}
	equal(t, "retries", int(g.pool.Counters().Retries.Load()), endpoints.tries()-sent)
	equal(t, "exhausted", int(g.pool.Counters().Exhausted.Load()), spent)
}

// TestPolicyOfMiddleware goes before the pool's.
func TestPolicyOfMiddleware(t *testing.T) {
	for attempts, status := range map[int]int{0: 502, 2: 200} {
		endpoints := newEndpoints(breaksOff, breaksOff, good)
		own := retryAll()
		own.Attempts = attempts
		g := newServers(t, setup{
			options: forward.Options{Retry: &retry.Policy{Attempts: 1}},
			around: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					next.ServeHTTP(w, r.WithContext(retry.WithPolicy(r.Context(), own)))
				})
			},
		}, 3, endpoints)
		response, _ := g.get(t, "/")
		equal(t, "status", response.StatusCode, status)
		equal(t, "tries", endpoints.tries(), attempts+1)
	}
}

// TestOnlyStatus does not try again where there was no response.
func TestOnlyStatus(t *testing.T) {
	policy := statuses(t, "503")
	policy.On = 0
	endpoints := newEndpoints(fails(503), breaksOff, good)
	g := newServers(t, setup{options: forward.Options{Retry: policy}}, 3, endpoints)
	response, _ := g.get(t, "/")
	equal(t, "answer", fmt.Sprint(response.StatusCode, endpoints.tries()), "502 2")
}

// TestConnectionOutlivesARefusal when the whole response is there: the next request goes over the same one.
func TestConnectionOutlivesARefusal(t *testing.T) {
	endpoints := newEndpoints(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "3")
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "bad")
	}, good)
	g := newServers(t, setup{options: forward.Options{Retry: statuses(t, "503")}}, 2, endpoints)
	for range 4 {
		_, body := g.get(t, "/a")
		equal(t, "body", body, `GET /a "" <nil>`)
	}
	peers := map[string]bool{}
	for _, r := range endpoints.requests() {
		peers[r.RemoteAddr] = true
	}
	equal(t, "connections", len(peers), 2)
}

// TestUpgradeIsTriedAgainBeforeItIsSent, and never after.
func TestUpgradeIsTriedAgainBeforeItIsSent(t *testing.T) {
	switches := scenario(writes("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello"))
	upgrade := "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n"
	g := newServers(t, setup{options: forward.Options{Retry: statuses(t, "503")}, dead: 1}, 1, newEndpoints(switches))
	tries, requests := 0, 0
	for ; tries == requests && requests < 100; requests++ {
		conn, reader := g.raw(t, upgrade)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		rest, _ := io.ReadAll(reader)
		_ = conn.Close()
		equal(t, "answer", fmt.Sprint(response.StatusCode, " ", string(rest)), "101 hello")
		tries += g.record(t).Tries
	}
	equal(t, "tries", tries, requests+1)
	g.settledDown(t)
	for _, part := range []scenario{breaksOff, fails(503)} {
		endpoints := newEndpoints(part, switches)
		g := newServers(t, setup{options: forward.Options{Retry: statuses(t, "503")}}, 2, endpoints)
		_, reader := g.raw(t, upgrade)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode < 500 || endpoints.tries() != 1 {
			t.Errorf("status %d after %d tries", response.StatusCode, endpoints.tries())
		}
	}
}

// TestTrailersOfARepeatedBody come with the body.
func TestTrailersOfARepeatedBody(t *testing.T) {
	for _, upstream := range []string{"h1", "h2c"} {
		var got http.Header
		endpoints := newEndpoints(reads(breaksOff), func(w http.ResponseWriter, r *http.Request) {
			good(w, r)
			got = r.Trailer
		})
		g := newServers(t, setup{upstream: upstream, options: forward.Options{Retry: retryAll()}}, 2, endpoints)
		r := request(t, http.MethodPut, g.url, io.MultiReader(strings.NewReader("body")))
		r.ContentLength = -1
		r.Trailer = http.Header{"X-Sum": {"42"}}
		_, body := g.do(t, r)
		equal(t, "body", body, `PUT / "body" <nil>`)
		equal(t, "trailers", got, http.Header{"X-Sum": {"42"}})
	}
}

// TestExpectation is answered by the proxy once, and the body comes to the second endpoint.
func TestExpectation(t *testing.T) {
	for _, first := range []scenario{fails(503), reads(fails(503)), closes} {
		endpoints := newEndpoints(first, good)
		g := newServers(t, setup{options: forward.Options{Retry: statuses(t, "503")}}, 2, endpoints)
		r := request(t, http.MethodPut, g.url, bytes.NewReader([]byte("body")))
		r.Header.Set("Expect", "100-continue")
		response, body := g.do(t, r)
		unharmed(t, response, body, `PUT / "body" <nil>`)
	}
}

// TestStickyCookieIsThatOfTheLastTry beside what the endpoint sets, and comes with no answer of the proxy's own.
func TestStickyCookieIsThatOfTheLastTry(t *testing.T) {
	for _, front := range []string{"h1", "h2"} {
		for _, upstream := range []string{"h1", "h2c"} {
			t.Run(front+" "+upstream, func(t *testing.T) {
				cookie, err := sticky.New("svc@file", &dynamic.Cookie{Name: "stick"})
				if err != nil {
					t.Fatal(err)
				}
				endpoints := newEndpoints(fails(503), good, good, breaksOff)
				s := setup{front: front, upstream: upstream, options: forward.Options{Retry: statuses(t, "503")}}
				s.policies = loadbalancer.Policies{Sticks: true, Cookie: cookie}
				g := newServers(t, s, 2, endpoints)
				response, _ := g.get(t, "/")
				got := response.Cookies()
				if len(got) != 2 || got[0].Name != "good" || got[1].Name != "stick" {
					t.Fatalf("the cookies are %v", response.Header["Set-Cookie"])
				}
				r := request(t, http.MethodGet, g.url, nil)
				r.AddCookie(got[1])
				response, _ = g.do(t, r)
				equal(t, "cookies of a client that has one", response.Header["Set-Cookie"], []string{"good=1"})
				equal(t, "the endpoint", endpoints.by[2], endpoints.by[1])
				response, _ = g.get(t, "/")
				equal(t, "answer", fmt.Sprint(response.StatusCode, response.Header["Set-Cookie"]), "502 []")
			})
		}
	}
}
