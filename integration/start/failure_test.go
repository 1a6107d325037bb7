package start

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestCannotStart meets what keeps Sluice from starting: one clear line and exit code 1.
func TestCannotStart(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // After the subtests, which run in parallel.
	taken := listener.Addr().String()
	tests := []struct {
		name, second string
		says         []string
	}{
		{"port in use", taken, []string{"second", taken, "address already in use"}},
		{"no address of this machine", "192.0.2.1:0", []string{"second", "192.0.2.1", "cannot assign"}},
		{"no address", "nonsense", []string{"sluice.yaml:4", "second", "nonsense"}},
		{"no port", "127.0.0.1:99999", []string{"sluice.yaml:4", "second", "99999"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			text := "entryPoints:\n  first: {address: \"127.0.0.1:0\"}\n  second:\n    address: \"" + test.second + "\"\n"
			file := filepath.Join(dir, "sluice.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			got := harness.Run(t, dir, nil, "--configFile="+file)
			var lines []string
			for line := range strings.Lines(got.Stderr) {
				if !strings.Contains(line, "level=info") {
					lines = append(lines, line)
				}
			}
			if got.Code != 1 || len(lines) != 1 || got.Stdout != "" {
				t.Errorf("exit code %d, want one line and 1:\n%s%s", got.Code, got.Stdout, got.Stderr)
			}
			for _, word := range test.says {
				if !strings.Contains(got.Stderr, word) {
					t.Errorf("nothing says %q:\n%s", word, got.Stderr)
				}
			}
		})
	}
}

// TestUnreadableCertificate quarantines a certificate that cannot be read; everything else works, with the certificate
// that can.
func TestUnreadableCertificate(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	backend := harness.StartBackend(t, "one", nil)
	good := authority.Issue("good.test")
	s := startWith(t, backend, ", http: {tls: {}}", "", harness.Setup{})
	s.Apply(func() {
		s.Write("tls.yaml", `
tls:
  certificates:
    - {certFile: "`+s.Dir+`/missing.pem", keyFile: "`+s.Dir+`/missing.key"}
    - {certFile: "`+good.CertFile+`", keyFile: "`+good.KeyFile+`"}
`)
	})
	line := s.WaitLog("object disabled", "missing.pem")
	if !strings.Contains(line, "tls.yaml:4") {
		t.Errorf("the log does not name file and line: %s", line)
	}
	settings := clientTLS(authority)
	client := harness.NewClient(t, harness.H2, s.Addr("web"), "good.test", settings)
	if got := client.Get("/"); got.StatusCode != http.StatusOK {
		t.Errorf("status %d", got.StatusCode)
	}
	if ready := s.Readiness(); ready.Status != http.StatusOK || ready.Quarantined != 1 {
		t.Errorf("/ready: %+v", ready)
	}
}
