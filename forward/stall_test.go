package forward_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/loadbalancer/outlier"
)

// TestEndpointsThatCloseDuringUploads count as failed, unless the client has sent nothing for a second: an endpoint may
// limit the time of an upload, and its ejection must not be in the hands of clients.
func TestEndpointsThatCloseDuringUploads(t *testing.T) {
	policy, err := outlier.NewPolicy(nil, &dynamic.OutlierDetection{
		ConsecutiveFailures: new(1), BaseEjectionTime: 3600e9, MaxEjectionTime: 3600e9, MaxEjectedPercent: new(50),
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		// The client sends a piece each interval, and the endpoint closes after a time.
		every, closes time.Duration
		ejected       uint64
	}{
		"the client goes on":                 {500 * time.Millisecond, 1400 * time.Millisecond, 1},
		"the client has just begun to stall": {time.Hour, 900 * time.Millisecond, 1},
		"the client stalls":                  {time.Hour, 1100 * time.Millisecond, 0},
		"the client is slow, and stalls":     {3 * time.Second, 4200 * time.Millisecond, 0},
	} {
		for _, front := range []string{"h1", "h2c"} {
			for _, upstream := range []string{"h1", "h2c"} {
				t.Run(name+" "+front+"-"+upstream, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						endpoint := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
							go func() { _, _ = io.Copy(io.Discard, r.Body) }()
							pauseFor(test.closes)
							_ = r.Context().Value(connKey{}).(net.Conn).Close()
							panic(http.ErrAbortHandler)
						})
						b := newBubble(t, front, upstream, 4, setup{policies: loadbalancer.Policies{Outlier: policy}}, endpoint)
						reader, writer := io.Pipe()
						sent := make(chan struct{})
						go func() {
							defer close(sent)
							for {
								if _, err := io.WriteString(writer, "hello"); err != nil {
									return
								}
								pauseFor(test.every)
							}
						}()
						r := request(t, http.MethodPost, bubbleURL, reader)
						r.ContentLength = 1000
						response, err := b.client.Do(r)
						if err != nil {
							t.Fatal(err)
						}
						_, _ = response.Body.Close(), reader.Close()
						<-sent
						equal(t, "status", response.StatusCode, http.StatusBadGateway)
						record := <-b.records
						equal(t, "excused", record.Excused, test.ejected == 0)
						b.registry.Flush(time.Now())
						equal(t, "ejections", b.pool.Counters().Ejections.Load(), test.ejected)
					})
				})
			}
		}
	}
}

// TestWaitsKeepNoMore of a body than the policy allows: an endpoint that refuses a request may go on reading it
// meanwhile.
func TestWaitsKeepNoMore(t *testing.T) {
	for _, front := range []string{"h1", "h2c"} {
		t.Run(front, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := make(chan struct{})
				endpoints := newEndpoints(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.ReadFull(r.Body, make([]byte, 5))
					fails(http.StatusServiceUnavailable)(w, r)
					_ = http.NewResponseController(w).Flush()
					close(refused)
					_, _ = io.Copy(io.Discard, r.Body)
				}, good)
				policy := statuses(t, "503")
				policy.MaxBody, policy.InitialInterval = 100, 2*time.Second
				b := newBubble(t, front, "h1", 2, setup{options: forward.Options{Retry: policy}}, endpoints)
				reader, writer := io.Pipe()
				go func() {
					_, _ = io.WriteString(writer, "hello")
					<-refused
					_, _ = io.WriteString(writer, strings.Repeat("x", 1<<20))
					_ = writer.Close()
				}()
				response, err := b.client.Do(request(t, http.MethodPut, bubbleURL, reader))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = response.Body.Close(), reader.Close()
				equal(t, "answer", []int{response.StatusCode, endpoints.tries()}, []int{503, 1})
				<-b.records
			})
		})
	}
}
