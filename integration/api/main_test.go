package api

import (
	"encoding/json"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// static is a Sluice with its API on the entrypoint traefik. ${API} are options of api.
const static = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
overload: {descriptors: {limit: 0}}
metrics: {prometheus: {addRoutersLabels: true}}
accessLog: {format: json, filePath: "${DIR}/access.log"}
api: {${API}}
providers:
  providersThrottleDuration: 50ms
  file: {directory: "${DYNAMIC}", watch: true}
xds: {address: "127.0.0.1:0"}
`

// start starts Sluice on static with options of api and dynamic files.
func start(t *testing.T, options string, files map[string]string) *harness.Sluice {
	t.Helper()
	return harness.Start(t, harness.Setup{Static: static, Dynamic: files, Vars: map[string]string{
		"API": options, "BACKEND": harness.RefusedAddress(t),
	}})
}

// management returns a client of the entrypoint traefik. Its requests name the host and port that they go to.
func management(t *testing.T, s *harness.Sluice) *harness.Client {
	t.Helper()
	address := s.Addr("traefik")
	return harness.NewClient(t, harness.H1, address, address, nil)
}

// object is a JSON object of any shape.
type object map[string]any

// decode reads the JSON of an answer.
func decode[T any](t *testing.T, answer harness.Response) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(answer.Text), &value); err != nil {
		t.Fatalf("%s: status %d, %v: %.300s", answer.Request.URL, answer.StatusCode, err, answer.Text)
	}
	return value
}

// list requests a list, and returns the names in it.
func list(t *testing.T, client *harness.Client, path string) ([]string, http.Header) {
	t.Helper()
	answer := client.Get(path)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d: %s", path, answer.StatusCode, answer.Text)
	}
	names := []string{}
	for _, one := range decode[[]struct{ Name string }](t, answer) {
		names = append(names, one.Name)
	}
	return names, answer.Header
}

// until repeats a question until the answer is yes, and fails the test when that takes too long.
func until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	const limit = 2 * time.Minute
	deadline := time.Now().Add(limit)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !yes() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
		<-ticker.C
	}
}
