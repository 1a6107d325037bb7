package timeout

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/static"
)

const (
	// brief is a limit that a test waits for, long one that no test waits for.
	brief = 200 * time.Millisecond
	long  = time.Hour
	// ample is a limit that a test waits for after something that must happen within it.
	ample = 2 * time.Second
)

// pause waits as a peer does that is slow.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}

// TestEndpointsThatTakeTooLong shows what a client gets, and what is recorded.
func TestEndpointsThatTakeTooLong(t *testing.T) {
	for name, test := range map[string]struct {
		config dynamic.Timeout
		path   string
		status int
		whole  bool
		reason string
	}{
		"request, no response":        {config(brief, 0, 0), "/hangs", 504, true, "longer than request, 200ms"},
		"responseHeader, no response": {config(0, brief, 0), "/hangs", 504, true, "within responseHeader, 200ms"},
		"idle, no response":           {config(0, 0, brief), "/hangs", 504, true, "for idle, 200ms"},
		"request, half a response":    {config(ample, 0, 0), "/half", 200, false, "longer than request, 2s"},
		"idle, half a response":       {config(0, 0, ample), "/half", 200, false, "for idle, 2s"},
		"request, an endless stream":  {config(ample, 0, 0), "/endless", 200, false, "longer than request, 2s"},
		"all, in time":                {config(long, long, long), "/", 200, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig.Matrix(t, func(t *testing.T, client, upstream string) {
				step := newTimeout(t, test.config)
				g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
					r *http.Request,
				) {
					switch r.URL.Path {
					case "/half":
						_, _ = io.WriteString(w, "half")
						_ = http.NewResponseController(w).Flush()
						<-r.Context().Done()
					case "/endless":
						for r.Context().Err() == nil {
							_, _ = io.WriteString(w, strings.Repeat("x", 1000))
						}
					case "/hangs":
						<-r.Context().Done()
					}
				}})
				response, _, err := g.Do(client, g.Request(http.MethodGet, test.path, nil))
				if response == nil || response.StatusCode != test.status || (err == nil) != test.whole {
					t.Errorf("got %+v, %v", response, err)
				}
				record := g.Record()
				if record.Status != test.status || !strings.Contains(record.Reason, test.reason) ||
					(record.Reason == "") != (test.reason == "") {
					t.Errorf("recorded %d, %q", record.Status, record.Reason)
				}
				if n := g.Member().Endpoint().InFlight(); n != 0 {
					t.Errorf("%d are in flight", n)
				}
			})
		})
	}
}

// TestClientsThatTakeTooLong have the rest of their body outstanding.
func TestClientsThatTakeTooLong(t *testing.T) {
	for name, test := range map[string]struct {
		config dynamic.Timeout
		status int
	}{
		"request": {config(brief, 0, 0), 504},
		"idle":    {config(0, long, brief), 408},
	} {
		for _, length := range []int64{100, -1} {
			t.Run(fmt.Sprintf("%s, length %d", name, length), func(t *testing.T) {
				t.Parallel()
				rig.Matrix(t, func(t *testing.T, client, upstream string) {
					step := newTimeout(t, test.config)
					g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(_ http.ResponseWriter,
						r *http.Request,
					) {
						_, _ = io.Copy(io.Discard, r.Body)
					}})
					reader, writer := io.Pipe()
					defer writer.Close() //nolint:errcheck // a test's
					go func() { _, _ = io.WriteString(writer, "some") }()
					r := g.Request(http.MethodPost, "/", reader)
					r.ContentLength = length
					response, _, err := g.Do(client, r)
					if err != nil {
						t.Fatal(err)
					}
					if response.StatusCode != test.status {
						t.Errorf("got %d", response.StatusCode)
					}
					if record := g.Record(); record.Status != test.status || !strings.Contains(record.Reason, name) {
						t.Errorf("recorded %d, %q", record.Status, record.Reason)
					}
				})
			})
		}
	}
}

// TestSlowUploads are the route's to bound, where it says how.
func TestSlowUploads(t *testing.T) {
	const read = 1500 * time.Millisecond // A head has to come in it, also on a busy machine.
	for name, test := range map[string]struct {
		config dynamic.Timeout
		status int
	}{
		"request":        {config(long, 0, 0), 200},
		"idle":           {config(0, 0, long), 200},
		"responseHeader": {config(0, long, 0), 408},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, client := range []string{"h1", "h2c"} {
				step := newTimeout(t, test.config)
				g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, r *http.Request) {
					n, _ := io.Copy(io.Discard, r.Body)
					_, _ = fmt.Fprint(w, n)
				}, Change: func(entrypoint *static.EntryPoint) {
					entrypoint.Transport.RespondingTimeouts.ReadTimeout = ptypes.Duration(read)
				}})
				reader, writer := io.Pipe()
				go func() {
					_, _ = io.WriteString(writer, "slow")
					pause(read * 3 / 2)
					_, _ = io.WriteString(writer, "body")
					_ = writer.Close()
				}()
				response, body, err := g.Do(client, g.Request(http.MethodPost, "/", reader))
				if err != nil {
					t.Fatal(err)
				}
				if response.StatusCode != test.status || test.status == 200 && body != "8" {
					t.Errorf("got %d, %q", response.StatusCode, body)
				}
			}
		})
	}
}

// TestSlowEndpoints that send a little of a large response at a time are not silent, however the bytes travel.
func TestSlowEndpoints(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		const length, pieces = 1 << 18, 25
		step := newTimeout(t, config(0, 0, 10*brief))
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(w http.ResponseWriter,
			_ *http.Request,
		) {
			w.Header().Set("Content-Length", strconv.Itoa(length))
			for range pieces {
				_, _ = w.Write(make([]byte, 1<<10))
				_ = http.NewResponseController(w).Flush()
				pause(brief / 2)
			}
			_, _ = w.Write(make([]byte, length-pieces<<10))
		}})
		response, body, err := g.Do(client, g.Request(http.MethodGet, "/", nil))
		if err != nil || response.StatusCode != http.StatusOK || len(body) != length {
			t.Errorf("got %+v, %d bytes, %v", response, len(body), err)
		}
		if record := g.Record(); record.Reason != "" {
			t.Errorf("recorded %q", record.Reason)
		}
	})
}

// TestClientThatTakesNothing of a response that is more than the system keeps.
func TestClientThatTakesNothing(t *testing.T) {
	for _, client := range []string{"h1", "h2c"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			step := newTimeout(t, config(0, 0, ample))
			g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100000000")
				chunk := make([]byte, 1_000_000)
				for range 100 {
					if _, err := w.Write(chunk); err != nil {
						return
					}
				}
			}})
			response, err := g.Client(client).Do(g.Request(http.MethodGet, "/", nil))
			if err != nil {
				t.Fatal(err)
			}
			record := g.Record()
			if !strings.Contains(record.Reason, "for idle") {
				t.Errorf("recorded %q", record.Reason)
			}
			if _, err := io.Copy(io.Discard, response.Body); err == nil {
				t.Error("the client takes the response for a whole one")
			}
			_ = response.Body.Close()
		})
	}
}

// TestWebSockets has handshakes within the limits, which do not apply to the connections.
func TestWebSockets(t *testing.T) {
	for name, test := range map[string]struct {
		config dynamic.Timeout
		ends   bool
	}{
		"request and responseHeader": {config(ample, ample, 0), false},
		"idle":                       {config(0, 0, ample), true},
		"idle that is long":          {config(ample, 0, long), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := newTimeout(t, test.config)
			g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, _ *http.Request) {
				conn, buffers, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				defer conn.Close() //nolint:errcheck // a test's
				_, _ = buffers.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
				_ = buffers.Flush()
				_, _ = io.Copy(conn, buffers)
			}})
			conn, reader := g.Raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
			response, err := http.ReadResponse(reader, nil)
			if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("got %+v, %v", response, err)
			}
			for range 4 {
				pause(ample / 3)
				if _, err := io.WriteString(conn, "ping"); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(reader, make([]byte, 4)); err != nil {
					t.Fatal(err)
				}
			}
			if test.ends {
				if _, err := reader.ReadByte(); err == nil {
					t.Error("the connection says something")
				}
				if record := g.Record(); record.Status != 101 || !strings.Contains(record.Reason, "for idle") {
					t.Errorf("recorded %d, %q", record.Status, record.Reason)
				}
			}
		})
	}
}

// TestConnectionGoesOn after a request that was in time, without the limits of that.
func TestConnectionGoesOn(t *testing.T) {
	t.Parallel()
	step := newTimeout(t, config(ample, ample, ample))
	g := rig.New(t, rig.Setup{Wrap: step.Wrap, Endpoint: func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}})
	conn, reader := g.Raw("")
	for range 2 {
		_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody")
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(response.Body); string(body) != "body" || err != nil {
			t.Errorf("got %q, %v", body, err)
		}
		pause(ample + brief)
	}
}
