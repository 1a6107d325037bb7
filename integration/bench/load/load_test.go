package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestAnswerInAnyPieces cuts two responses in two at every place.
func TestAnswerInAnyPieces(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\ncontent-length: 5\r\n\r\nhello"
	for cut := range len(text) {
		var a answer
		for range 2 {
			complete := false
			for _, piece := range []string{text[:cut], text[cut:]} {
				if piece == "" {
					continue
				}
				for piece != "" {
					n := copy(a.buffer(), piece)
					piece = piece[n:]
					var err error
					if complete, err = a.add(n); err != nil {
						t.Fatalf("cut at %d: %v", cut, err)
					}
				}
			}
			if !complete {
				t.Fatalf("cut at %d: it is not complete", cut)
			}
		}
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
		"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 8<<10),
	} {
		var a answer
		if _, err := a.add(copy(a.buffer(), text)); err == nil {
			t.Errorf("%.40q is an answer", text)
		}
	}
}

// served starts a server, and returns the options of a load on it.
func served(t *testing.T, secure bool) options {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/small" || r.Host != "bench.test" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("hello"))
	}))
	if secure {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return options{
		address: netip.MustParseAddrPort(server.Listener.Addr().String()), host: "bench.test", path: "/small",
		connections: 4, time: 200 * time.Millisecond, rate: 500,
	}
}

func TestRateSendsWhatIsDue(t *testing.T) {
	var out strings.Builder
	if err := rate(t.Context(), served(t, false), &out); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^load requests=100 duration=\d+ p50=\d+ p99=\d+ p99.9=\d+ max=\d+ unanswered=0\n$`).MatchString(out.String()) {
		t.Errorf("it printed %q", &out)
	}
}

// TestRateChargesTheWait stalls the only connection: what was due meanwhile has waited, although it could not be sent.
func TestRateChargesTheWait(t *testing.T) {
	stalled := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if !stalled {
			stalled = true
			timer := time.NewTimer(150 * time.Millisecond)
			<-timer.C
		}
	}))
	t.Cleanup(server.Close)
	o := options{
		address: netip.MustParseAddrPort(server.Listener.Addr().String()), host: "bench.test", path: "/",
		connections: 1, time: 200 * time.Millisecond, rate: 500,
	}
	l, err := newLoop(o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	if err := l.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	waited := 0
	for _, took := range l.took {
		if took > 50*time.Millisecond {
			waited++
		}
	}
	if l.answered != 100 || waited < 40 { // Those that were due in the first 100 ms of the stall.
		t.Errorf("%d answered, %d of them waited", l.answered, waited)
	}
}

func TestRateFailsWithTheProxy(t *testing.T) {
	o := served(t, false)
	o.path = "/other"
	if err := rate(t.Context(), o, new(strings.Builder)); err == nil {
		t.Error("answers with another status are measured")
	}
}

func TestHandshakes(t *testing.T) {
	o := served(t, true)
	for _, o.resume = range []bool{false, true} {
		var out strings.Builder
		if err := handshakes(t.Context(), o, &out); err != nil {
			t.Fatal(err)
		}
		match := regexp.MustCompile(`^load requests=\d+ .* resumed=(\d+)\n$`).FindStringSubmatch(out.String())
		if match == nil || (match[1] != "0") != o.resume {
			t.Errorf("resume %v: it printed %q", o.resume, &out)
		}
	}
}

func TestIdleHoldsItsConnections(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out strings.Builder
	if err := idle(ctx, served(t, false), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "ready\nload open=4\n" {
		t.Errorf("it printed %q", got)
	}
}

func TestLoadsAreBounded(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"other"},
		{"rate"},
		{"rate", "-address", "198.51.100.1:80"},
		{"rate", "-address", "[::1]:80"},
		{"rate", "-address", "127.0.0.1:80", "-rate", "0"},
		{"rate", "-address", "127.0.0.1:80", "-rate", "1e9"},
		{"rate", "-address", "127.0.0.1:80", "-time", "1h"},
		{"idle", "-address", "127.0.0.1:80", "-connections", "20000"},
	} {
		if err := run(t.Context(), args, new(strings.Builder), new(strings.Builder)); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
