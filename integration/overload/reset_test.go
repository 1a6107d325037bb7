package overload

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const buffered = `
http:
  routers:
    normal: {rule: "Path(` + "`/`" + `)", service: one, middlewares: [whole]}
    critical: {rule: "Path(` + "`/critical`" + `)", service: one, middlewares: [whole], priorityClass: critical}
  middlewares: {whole: {buffering: {memRequestBodyBytes: 8000000}}}
  services: {one: {loadBalancer: {servers: [{url: "${BACKEND}"}]}}}
`

// TestLargestRequestsAreEnded has clients send large bodies slowly to a Sluice whose memory is always short. They are
// answered 503, while small requests and those of the class critical are served.
func TestLargestRequestsAreEnded(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, strconv.FormatInt(n, 10))
	}))
	t.Cleanup(backend.Close)
	args := []string{"--overload.memory.limit=1000000000", "--overload.actions.resetLargest=1", "--overload.hysteresis=0"}
	for _, action := range []string{
		"endKeepAlive", "reduceTimeouts", "shedLow", "shedDefault", "shedHigh", "stopAccepting",
	} {
		args = append(args, "--overload.actions."+action+"=0")
	}
	s := harness.Start(t, harness.Setup{
		Static:  strings.ReplaceAll(static, "  websecure: {address: \"127.0.0.1:0\", http: {tls: {}}}\n", ""),
		Dynamic: map[string]string{"buffered.yaml": buffered}, Vars: map[string]string{"BACKEND": backend.URL}, Args: args,
	})
	s.WaitLog("subsystem=overload", "overload: resetLargest begins", "monitor=memory")
	critical, rest := startCritical(t, s)
	for _, protocol := range []harness.Protocol{harness.H1, harness.H2C} {
		client := harness.NewClient(t, protocol, s.Addr("web"), "any.test", nil)
		client.Timeout = timeout
		over := make(chan struct{})
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		request := client.Request(http.MethodPost, "/", io.MultiReader(
			bytes.NewReader(make([]byte, 2<<20)), &slowBody{sent: 64 << 10, over: over, ticker: ticker},
		))
		request.ContentLength = bodyBytes
		got, err := client.Try(request)
		close(over)
		if err != nil {
			t.Fatalf("%v: %v", protocol, err)
		}
		if got.StatusCode != http.StatusServiceUnavailable || got.Header.Get("Retry-After") != "1" {
			t.Errorf("%v: status %d, %v", protocol, got.StatusCode, got.Header)
		}
		s.WaitLog("level=info", "request failed", "code=overloaded", "router=normal@file")
		small := client.Request(http.MethodPost, "/", bytes.NewReader(make([]byte, 1000)))
		if got, err := client.Try(small); err != nil || got.StatusCode != http.StatusOK || got.Text != "1000" {
			t.Errorf("%v: a small request: %v, %v", protocol, got, err)
		}
	}
	if err := rest.Close(); err != nil {
		t.Error(err)
	}
	if status := <-critical; status != http.StatusOK {
		t.Errorf("critical: status %d", status)
	}
	s.WaitLog("subsystem=overload", "requests that hold the most memory were ended", "requests=1")
	if shown := s.Management().Get("/metrics").Text; !strings.Contains(shown, "\nsluice_overload_reset_total 2\n") {
		t.Error("sluice_overload_reset_total is not 2")
	}
	s.Stop()
}

// startCritical begins a large upload to the critical router, which ends when rest is closed, and sends its status
// then.
func startCritical(t *testing.T, s *harness.Sluice) (status <-chan int, rest io.Closer) {
	t.Helper()
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	client.Timeout = timeout
	reader, writer := io.Pipe()
	came := make(chan int, 1)
	go func() { came <- statusOf(client, client.Request(http.MethodPost, "/critical", reader)) }()
	if _, err := writer.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	return came, writer
}
