package bandwidthlimit_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/bandwidthlimit"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func build(t testing.TB, rate, after int64) *bandwidthlimit.BandwidthLimit {
	t.Helper()
	step, err := bandwidthlimit.New("m@file", dynamic.BandwidthLimit{BytesPerSecond: rate, After: after})
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// TestTime is how long a body takes: what is beyond the first second and after, by the rate.
func TestTime(t *testing.T) {
	for name, test := range map[string]struct {
		rate, after int64
		method      string
		parts       []int
		late        time.Duration
		want        time.Duration
	}{
		"within a second":          {1000, 0, "GET", []int{1000}, 0, 0},
		"after":                    {1000, 5000, "GET", []int{6000}, 0, 0},
		"one write":                {1000, 0, "GET", []int{4000}, 0, 3 * time.Second},
		"many writes":              {1000, 1000, "GET", []int{500, 500, 1500, 1500}, 0, 2 * time.Second},
		"a late service":           {1000, 0, "GET", []int{3000}, 2 * time.Second, 2 * time.Second},
		"less than a slice":        {1000, 0, "GET", []int{1050}, 0, 50 * time.Millisecond},
		"a byte a second":          {1, 0, "GET", []int{4}, 0, 3 * time.Second},
		"fast":                     {1 << 40, 0, "GET", []int{1 << 20}, 0, 0},
		"as fast as numbers go":    {1<<63 - 1, 1<<63 - 1, "GET", []int{1 << 20}, 0, 0},
		"HEAD":                     {1000, 0, "HEAD", []int{4000}, 0, 0},
		"no body, and empty parts": {1, 0, "GET", []int{0, 0}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent bytes.Buffer
				handler := build(t, test.rate, test.after).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					<-time.NewTimer(test.late).C
					for i, length := range test.parts {
						part := bytes.Repeat([]byte{byte('a' + i)}, length)
						_, _ = sent.Write(part)
						if n, err := w.Write(part); n != length || err != nil {
							t.Errorf("Write is %d, %v", n, err)
						}
					}
				}))
				w := httptest.NewRecorder()
				start := time.Now()
				handler.ServeHTTP(w, middlewaretest.Request(t, test.method+" /"))
				took := time.Since(start)
				if took < test.want || took > test.want+5*time.Millisecond {
					t.Errorf("it took %v, want %v", took, test.want)
				}
				if !bytes.Equal(w.Body.Bytes(), sent.Bytes()) {
					t.Error("the body is another")
				}
			})
		})
	}
}

// TestRate looks at each moment at how much has been sent.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rate, after, length = 10_000, 20_000, 100_000
		start := time.Now()
		written := 0
		w := &spy{ResponseRecorder: httptest.NewRecorder()}
		w.wrote = func(n int) {
			written += n
			if most := after + rate*(1+time.Since(start).Seconds()); float64(written) > most+1 {
				t.Errorf("%d bytes after %v", written, time.Since(start))
			}
		}
		build(t, rate, after).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", length)))
		})).ServeHTTP(w, middlewaretest.Request(t, "GET /"))
		if written != length || w.flushes == 0 {
			t.Errorf("%d bytes, %d flushes", written, w.flushes)
		}
	})
}

// spy notes what is written.
type spy struct {
	*httptest.ResponseRecorder
	wrote   func(n int)
	flushes int
}

func (s *spy) Write(p []byte) (int, error) {
	s.wrote(len(p))
	return s.ResponseRecorder.Write(p)
}

func (s *spy) Flush() { s.flushes++ }

// TestLeaves ends the wait when the client has left.
func TestLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("gone")
		ctx, leave := context.WithCancelCause(t.Context())
		handler := build(t, 1, 0).Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if n, err := w.Write(make([]byte, 1000)); n != 3 || !errors.Is(err, gone) {
				t.Errorf("Write is %d, %v", n, err)
			}
		}))
		go func() {
			<-time.NewTimer(2500 * time.Millisecond).C
			leave(gone)
		}()
		handler.ServeHTTP(httptest.NewRecorder(), middlewaretest.Request(t, "GET /").WithContext(ctx))
	})
}

func TestRefusesDefinitions(t *testing.T) {
	for want, config := range map[string]dynamic.BandwidthLimit{
		"bandwidthLimit.bytesPerSecond is 0, and must be at least 1":  {},
		"bandwidthLimit.bytesPerSecond is -1, and must be at least 1": {BytesPerSecond: -1},
		"bandwidthLimit.after -1 is negative":                         {BytesPerSecond: 1, After: -1},
	} {
		step, err := bandwidthlimit.New("m@file", config)
		if step != nil || err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestReadme(t *testing.T) {
	for name, definition := range middlewaretest.Examples(t, "README.md") {
		if _, err := bandwidthlimit.New(name, *definition.BandwidthLimit); err != nil {
			t.Error(err)
		}
	}
}

// TestOnTheWire sends a body whose end has to wait, over both protocols.
func TestOnTheWire(t *testing.T) {
	body := strings.Repeat("0123456789", 30_000)
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		g := rig.New(t, rig.Setup{
			Wrap: build(t, 250_000, 0).Wrap, Upstream: upstream,
			Endpoint: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) },
		})
		start := time.Now()
		response, got, err := g.Do(client, g.Request(http.MethodGet, "/x", nil))
		if err != nil || response.StatusCode != http.StatusOK || got != body {
			t.Fatalf("%v, %d bytes", err, len(got))
		}
		if took := time.Since(start); took < 150*time.Millisecond {
			t.Errorf("the body took %v", took)
		}
	})
}

// TestUpgrades passes connections on that are not limited.
func TestUpgrades(t *testing.T) {
	g := rig.New(t, rig.Setup{
		Wrap: build(t, 1, 0).Wrap, Upstream: "h1",
		Endpoint: func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"+
				strings.Repeat("y", 1000))
			_ = conn.Close()
		},
	})
	_, from := g.Raw("GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
	response, err := http.ReadResponse(from, nil)
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(response, err)
	}
	all, err := io.ReadAll(from)
	if err != nil || len(all) != 1000 {
		t.Errorf("%d bytes, %v", len(all), err)
	}
}
