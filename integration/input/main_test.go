package input

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

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

// read returns the files of a folder under testdata that are configuration.
func read(t *testing.T, folder string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.yaml", "*.toml"} {
		files, err := filepath.Glob(filepath.Join("testdata", folder, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.Base(file)] = string(text)
		}
	}
	if len(texts) == 0 {
		t.Fatalf("testdata/%s holds no configuration", folder)
	}
	return texts
}

// backend starts a server that answers everything with its name, and returns its host and port.
func backend(t *testing.T, name string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(name))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// ask sends a request for a host, and returns the status, and the backend if it is 200.
func ask(t *testing.T, s *harness.Sluice, host string) string {
	t.Helper()
	client := harness.NewClient(t, harness.H1, s.Addr("web"), host, nil)
	answer := client.Get("/")
	if answer.StatusCode == http.StatusOK {
		return "200 " + answer.Text
	}
	return strings.Fields(answer.Status)[0]
}

// lines returns the lines of a text, without the last line break.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}
