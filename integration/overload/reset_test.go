package overload

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quic-go/quic-go/http3"

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

// large is a response that no socket takes whole, in bytes.
const large = 24 << 20

// TestLargestRequestsAreEnded has clients send large bodies slowly to a Sluice whose memory is always short. They are
// answered 503, while small requests and those of the class critical are served. A large response that is not read is
// aborted.
func TestLargestRequestsAreEnded(t *testing.T) {
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery == "large" {
			_, _ = w.Write(make([]byte, large))
			return
		}
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
		Static:  strings.ReplaceAll(static, "http: {tls: {}}", "http: {tls: {}}, http3: {}"),
		Dynamic: map[string]string{"buffered.yaml": buffered}, Vars: map[string]string{"BACKEND": backend.URL}, Args: args,
	})
	s.WaitLog("subsystem=overload", "overload: resetLargest begins", "monitor=memory")
	critical, rest := startCritical(t, s)
	for _, protocol := range []harness.Protocol{harness.H1, harness.H2C, harness.H3} {
		client := largeClient(t, s, protocol)
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
	abortLarge(t, s)
	if err := rest.Close(); err != nil {
		t.Error(err)
	}
	if status := <-critical; status != http.StatusOK {
		t.Errorf("critical: status %d", status)
	}
	s.WaitLog("subsystem=overload", "requests that hold the most memory were ended", "requests=1")
	if shown := s.Management().Get("/metrics").Text; !strings.Contains(shown, "\nsluice_overload_reset_total 4\n") {
		t.Error("sluice_overload_reset_total is not 4")
	}
	s.Stop()
}

// largeClient returns a client that speaks a protocol.
func largeClient(t *testing.T, s *harness.Sluice, protocol harness.Protocol) *harness.Client {
	t.Helper()
	entrypoint := "web"
	if protocol.Secure() {
		entrypoint = "websecure"
	}
	//nolint:gosec // The certificate is generated.
	client := harness.NewClient(t, protocol, s.Addr(entrypoint), "any.test", &tls.Config{InsecureSkipVerify: true})
	client.Timeout = timeout
	return client
}

// abortLarge requests a large response over HTTP/3, and reads it when its request has been ended.
func abortLarge(t *testing.T, s *harness.Sluice) {
	t.Helper()
	client := largeClient(t, s, harness.H3)
	response, err := client.Do(client.Request(http.MethodGet, "/?large", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // a test's
	harness.Until(t, "the response is ended", func() bool {
		return strings.Contains(s.Management().Get("/metrics").Text, "\nsluice_overload_reset_total 4\n")
	})
	n, err := io.Copy(io.Discard, response.Body)
	if reset, ok := errors.AsType[*http3.Error](err); !ok || reset.ErrorCode != http3.ErrCodeInternalError || n >= large {
		t.Errorf("a large response: %d bytes, %v", n, err)
	}
}

// startCritical begins a large upload to the critical router, which ends when rest is closed, and sends its status
// then.
func startCritical(t *testing.T, s *harness.Sluice) (status <-chan int, rest io.Closer) {
	t.Helper()
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	client.Timeout = 10 * timeout // The upload is as long as everything between its beginning and its end.
	reader, writer := io.Pipe()
	came := make(chan int, 1)
	go func() { came <- statusOf(client, client.Request(http.MethodPost, "/critical", reader)) }()
	if _, err := writer.Write(make([]byte, 2<<20)); err != nil {
		t.Fatal(err)
	}
	return came, writer
}
