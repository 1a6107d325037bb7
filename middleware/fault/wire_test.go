package fault_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/telemetry"
)

// reason is the recorded reason of aborts and resets.
const reason = "middleware m@file: injected"

// unreached is an endpoint that gets no request.
func unreached(t *testing.T) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the service gets %s %s", r.Method, r.URL) }
}

func TestAbortOnTheWire(t *testing.T) {
	const plain, grpc = "text/plain", "application/grpc+proto"
	exhausted, fine := 8, 0
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		for name, test := range map[string]struct {
			abort       dynamic.FaultAbort
			method      string
			contentType string
			status      int
			body        string
			call        string
		}{
			"default status": {dynamic.FaultAbort{Status: 503}, "GET", "", 503, "Service Unavailable\n", ""},
			"HEAD":           {dynamic.FaultAbort{Status: 503}, "HEAD", "", 503, "", ""},
			"unread body":    {dynamic.FaultAbort{Status: 500}, "POST", plain, 500, "Internal Server Error\n", ""},
			"a success":      {dynamic.FaultAbort{Status: 200}, "GET", "", 200, "OK\n", ""},
			"no content":     {dynamic.FaultAbort{Status: 204}, "GET", "", 204, "", ""},
			"a limit":        {dynamic.FaultAbort{Status: 429}, "GET", "", 429, "Too Many Requests\n", ""},
			"unknown status": {dynamic.FaultAbort{Status: 599}, "GET", "", 599, "Refused\n", ""},
			"gRPC":           {dynamic.FaultAbort{Status: 503, GRPCStatus: &exhausted}, "POST", grpc, 200, "", "8 injected"},
			"gRPC, OK":       {dynamic.FaultAbort{Status: 503, GRPCStatus: &fine}, "POST", grpc, 200, "", "0 injected"},
			"gRPC without a status": {
				dynamic.FaultAbort{Status: 503}, "POST", grpc, 503, "Service Unavailable\n", "",
			},
			"another type than gRPC's": {
				dynamic.FaultAbort{Status: 502, GRPCStatus: &exhausted}, "POST", plain, 502, "Bad Gateway\n", "",
			},
		} {
			test.abort.Percentage = 100
			g := rig.New(t, rig.Setup{
				Wrap: build(t, dynamic.Fault{Abort: &test.abort}).Wrap, Upstream: upstream, Endpoint: unreached(t),
			})
			var body io.Reader
			if test.method == http.MethodPost {
				body = bytes.NewReader(make([]byte, 200_000))
			}
			r := g.Request(test.method, "/", body)
			if test.contentType != "" {
				r.Header.Set("Content-Type", test.contentType)
			}
			response, text, err := g.Do(client, r)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			call := strings.TrimSpace(response.Header.Get("Grpc-Status") + " " + response.Header.Get("Grpc-Message"))
			if response.StatusCode != test.status || text != test.body || call != test.call {
				t.Errorf("%s: got %d %q, gRPC %q", name, response.StatusCode, text, call)
			}
			if record := g.Record(); record.Status != test.status || record.Reason != reason ||
				record.Code != telemetry.CodeMiddleware {
				t.Errorf("%s: recorded %d, %q, %q", name, record.Status, record.Code, record.Reason)
			}
		}
	})
}

// TestResetOnTheWire resets requests before and after a head. The next request of the client is served.
func TestResetOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, protocol, upstream string) {
		for _, afterHead := range []bool{false, true} {
			step := build(t, dynamic.Fault{
				Headers: map[string]string{"X-Fault": ""},
				Reset:   &dynamic.FaultReset{Percentage: 100, AfterHead: afterHead},
			})
			g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: func(_ http.ResponseWriter,
				r *http.Request,
			) {
				if r.Header.Get("X-Fault") != "" {
					t.Error("the service gets a request that is reset")
				}
			}})
			client := g.Client(protocol)
			for method, contentType := range map[string]string{"POST": "", "PUT": "application/grpc"} {
				r := g.Request(method, "/", http.NoBody, "X-Fault", "on", "Content-Type", contentType)
				response, err := client.Do(r)
				status := telemetry.StatusNoResponse
				if afterHead && err == nil {
					status = http.StatusOK
					if got := response.Header.Get("Content-Type"); response.StatusCode != status || got != contentType {
						t.Errorf("%s: got %d, %q", method, response.StatusCode, got)
					}
					_, err = io.ReadAll(response.Body)
					_ = response.Body.Close()
				} else if err == nil {
					_ = response.Body.Close()
				}
				if !broken(protocol, afterHead, err) {
					t.Errorf("%s, after the head %v: error %v", method, afterHead, err)
				}
				if record := g.Record(); record.Status != status || record.Reason != reason ||
					record.Code != telemetry.CodeMiddleware || record.Broken {
					t.Errorf("%s: recorded %d, %q, %q", method, record.Status, record.Code, record.Reason)
				}
				answered, err := client.Do(g.Request(http.MethodGet, "/", http.NoBody))
				if err != nil {
					t.Fatalf("the next request: %v", err)
				}
				_ = answered.Body.Close()
				if record := g.Record(); answered.StatusCode != http.StatusOK || record.Reason != "" {
					t.Errorf("the next request: %d, %q", answered.StatusCode, record.Reason)
				}
			}
			if got := step.Counts()["reset"]; got != 2 {
				t.Errorf("counted %d", got)
			}
		}
	})
}

// broken reports whether an error is what the client of a protocol sees of a reset.
func broken(protocol string, afterHead bool, err error) bool {
	if protocol == "h2c" {
		stream, reset := errors.AsType[http2.StreamError](err)
		return reset && stream.Code == http2.ErrCodeInternal
	}
	if afterHead {
		return errors.Is(err, io.ErrUnexpectedEOF)
	}
	return errors.Is(err, syscall.ECONNRESET)
}

// TestResetWithoutTheHead has clients of HTTP/1.1 see a TCP reset, whatever the request and the writers in between.
func TestResetWithoutTheHead(t *testing.T) {
	step := build(t, dynamic.Fault{Reset: &dynamic.FaultReset{Percentage: 100}})
	g := rig.New(t, rig.Setup{Endpoint: unreached(t), Wrap: func(next http.Handler) http.Handler {
		inner := step.Wrap(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { inner.ServeHTTP(above{w}, r) })
	}})
	for _, sent := range []string{
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		"GET / HTTP/1.0\r\nHost: a\r\n\r\n",
		"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
		"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		_, reader := g.Raw(sent)
		if got, err := io.ReadAll(reader); !errors.Is(err, syscall.ECONNRESET) || len(got) > 0 {
			t.Errorf("%q: got %q, %v", sent, got, err)
		}
		if record := g.Record(); record.Status != telemetry.StatusNoResponse {
			t.Errorf("%q: recorded %d", sent, record.Status)
		}
	}
}

// above is a writer that wraps another.
type above struct{ http.ResponseWriter }

func (a above) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// TestDelayOnTheWire has a client leave within a delay.
func TestDelayOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		config := late(0)
		config.Delay.Duration = 3600e9
		step := build(t, config)
		g := rig.New(t, rig.Setup{Wrap: step.Wrap, Upstream: upstream, Endpoint: unreached(t)})
		r := g.Request(http.MethodGet, "/", http.NoBody)
		ctx, leave := context.WithCancel(r.Context())
		sender, ended := g.Client(client), make(chan error, 1)
		go func() {
			response, err := sender.Do(r.WithContext(ctx))
			if err == nil {
				_ = response.Body.Close()
			}
			ended <- err
		}()
		http1test.Eventually(t, "the request is held back", func() bool {
			_, levels := step.Status()
			return levels["active"] == 1
		})
		leave()
		if err := http1test.Receive(t, ended, "the end of the request"); !errors.Is(err, context.Canceled) {
			t.Errorf("the client gets %v", err)
		}
		if record := g.Record(); record.Status != telemetry.StatusClientClosedRequest ||
			record.Code != telemetry.CodeClientLeft {
			t.Errorf("recorded %d, %q, %q", record.Status, record.Code, record.Reason)
		}
	})
}
