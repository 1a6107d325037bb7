package middleware

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// static is a Sluice with metrics and API on the entrypoint traefik.
const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true}
metrics: {prometheus: {}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
`

// golden compares a text with a file under testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", file, diff)
	}
}

// middlewareStatus is one entry of /api/middlewares.
type middlewareStatus struct {
	Name   string
	Counts map[string]uint64
	Owners []struct {
		Owner, State string
		Levels       map[string]int64
	}
}

// middlewareState is the state of middlewares in API and metrics.
type middlewareState struct {
	api     map[string]middlewareStatus
	metrics string
}

// ask reads the API and the metrics.
func ask(t *testing.T, s *harness.Sluice) middlewareState {
	t.Helper()
	client := harness.NewClient(t, harness.H1, s.Addr("traefik"), "localhost", nil)
	client.Transport.DisableKeepAlives = true
	var entries []middlewareStatus
	answer := client.Get("/api/middlewares")
	if err := json.Unmarshal([]byte(answer.Text), &entries); err != nil {
		t.Fatalf("/api/middlewares: status %d, %v: %s", answer.StatusCode, err, answer.Text)
	}
	found := middlewareState{api: map[string]middlewareStatus{}, metrics: client.Get("/metrics").Text}
	for _, entry := range entries {
		found.api[entry.Name] = entry
	}
	return found
}

// line returns the value of a metric with exactly these labels, and an empty text where there is none.
func (w middlewareState) line(metric string) string {
	for line := range strings.Lines(w.metrics) {
		if value, ok := strings.CutPrefix(line, metric+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// until polls a condition until it is true, and fails the test after two minutes.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not so within two minutes", what)
		}
		<-ticker.C
	}
}

// get sends GET with header lines "NAME: VALUE", and returns the status.
func get(t *testing.T, client *harness.Client, path string, lines ...string) int {
	t.Helper()
	status, err := try(client, path, lines...)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// try is get for goroutines other than that of the test.
func try(client *harness.Client, path string, lines ...string) (int, error) {
	request := client.Request(http.MethodGet, path, nil)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Add(name, value)
	}
	answer, err := client.Try(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, nil
}

// passed sends a number of requests one after another and returns how many were answered with 200; all others must be
// answered with the status that is given.
func passed(t *testing.T, client *harness.Client, times, otherwise int, path string, lines ...string) int {
	t.Helper()
	n := 0
	for range times {
		switch status := get(t, client, path, lines...); status {
		case http.StatusOK:
			n++
		case otherwise:
		default:
			t.Fatalf("%s: status %d, want 200 or %d", path, status, otherwise)
		}
	}
	return n
}
