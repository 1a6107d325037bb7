package overload

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const (
	// little is the memory of the control group, in bytes.
	little = 96 << 20
	// uploads is how many clients send a body of bodyBytes slowly at a time, for uploadTime.
	uploads    = 1000
	bodyBytes  = 10 << 20
	uploadTime = 3 * time.Second
)

const uploading = `
http:
  routers:
    upload: {rule: "Path(` + "`/upload`" + `)", service: one, priorityClass: low}
    normal: {rule: "Path(` + "`/`" + `)", service: one}
  services: {one: {loadBalancer: {servers: [{url: "${BACKEND}"}]}}}
tls: {stores: {default: {defaultCertificate: {certFile: "${CERT}", keyFile: "${KEY}"}}}}
`

// slowBody is a body of which the first 64 KiB come at once, and then a KiB every quarter of a second.
type slowBody struct {
	sent   int64
	over   <-chan struct{}
	ticker *time.Ticker
}

// errOver is the end of a slow body.
var errOver = errors.New("the test is over")

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	n := min(len(p), 1<<10)
	if b.sent < 64<<10 {
		n = min(len(p), 16<<10)
	} else {
		select {
		case <-b.ticker.C:
		case <-b.over:
			return 0, errOver
		}
	}
	b.sent += int64(n)
	return n, nil
}

// TestLittleMemory has many clients send large bodies slowly to a Sluice with little memory. The kernel does not end
// it, it answers /ping, and others are served when they have left.
func TestLittleMemory(t *testing.T) {
	g := newGroup(t, little)
	var received atomic.Int64
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		received.Add(n)
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(backend.Close)
	authority := harness.NewAuthority(t)
	issued := authority.Issue("any.test")
	s := harness.Start(t, harness.Setup{
		Static: static, ControlGroup: g.procs(),
		Dynamic: map[string]string{"uploading.yaml": uploading},
		Vars:    map[string]string{"BACKEND": backend.URL, "CERT": issued.CertFile, "KEY": issued.KeyFile},
		Args:    []string{"--overload.memory.limit=0"},
	})
	awaitMeasurement(t, s)
	dial := func(t *testing.T, protocol harness.Protocol) *harness.Client {
		entrypoint := "web"
		if protocol.Secure() {
			entrypoint = "websecure"
		}
		return harness.NewClient(t, protocol, s.Addr(entrypoint), "any.test", &tls.Config{RootCAs: authority.Pool})
	}
	for _, protocols := range [][]harness.Protocol{{harness.H2C}, {harness.H1, harness.H2}} {
		t.Run(fmt.Sprint(protocols), func(t *testing.T) {
			pings := ping(t, s)
			status := upload(t, func(i int) *harness.Client { return dial(t, protocols[i%len(protocols)]) })
			pings.stop()
			now, most := s.Memory()
			t.Logf("answers %v; %d KiB have reached the endpoint; resident %d MiB, at most %d; the group at most %s bytes",
				status, received.Load()>>10, now>>20, most>>20, strings.TrimSpace(g.read(t, g.peak)))
			for line := range strings.Lines(s.Management().Get("/metrics").Text) {
				if strings.HasPrefix(line, "sluice_overload_") && !strings.HasSuffix(line, " 0\n") {
					t.Log(strings.TrimSpace(line))
				}
			}
			for _, protocol := range protocols {
				recovers(t, dial(t, protocol), "/")
			}
		})
	}
	if n := g.killed(t); n > 0 {
		t.Errorf("the kernel has ended %d processes", n)
	}
	s.Stop()
}

// awaitMeasurement waits until the pressure on memory is measured.
func awaitMeasurement(t *testing.T, s *harness.Sluice) {
	t.Helper()
	client := s.Management()
	harness.Until(t, "the pressure is measured", func() bool {
		_, shown, _ := strings.Cut(client.Get("/metrics").Text, "\nsluice_overload_pressure{monitor=\"memory\"} ")
		return shown != "" && !strings.HasPrefix(shown, "0\n")
	})
}

// upload has clients send their bodies, each on a connection of its own, and returns their number by status; 0 is one
// without a response.
func upload(t *testing.T, dial func(i int) *harness.Client) map[int]int {
	t.Helper()
	over := make(chan struct{})
	var sending sync.WaitGroup
	var mutex sync.Mutex
	status := map[int]int{}
	for i := range uploads {
		client := dial(i)
		sending.Go(func() {
			ticker := time.NewTicker(250 * time.Millisecond)
			defer ticker.Stop()
			request := client.Request(http.MethodPost, "/upload", &slowBody{over: over, ticker: ticker})
			request.ContentLength = bodyBytes
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			defer cancel()
			code := statusOf(client, request.WithContext(ctx))
			mutex.Lock()
			status[code]++
			mutex.Unlock()
			client.Transport.CloseIdleConnections()
		})
	}
	timer := time.NewTimer(uploadTime)
	<-timer.C
	close(over)
	sending.Wait()
	return status
}
