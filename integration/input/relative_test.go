package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestRelativePaths proves that relative paths of both configurations start at the working directory, and not at the
// folder of the file that names them.
func TestRelativePaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"conf/sluice.yaml": "entryPoints: {web: {address: 127.0.0.1:0}}\nproviders: {file: {directory: dynamic}}\n",
		"dynamic/a.yaml":   "http: {middlewares: {users: {basicAuth: {usersFile: secrets/users}}}}\n",
		"secrets/users":    "a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		from, file string
		code       int
		want       string
	}{
		{".", "conf/sluice.yaml", 0, "the configuration is valid: 0 routers, 0 services, 1 middleware"},
		{"conf", "sluice.yaml", 1, "dynamic: cannot be read"},
	} {
		result := harness.Run(t, filepath.Join(dir, test.from), nil, "check", "-c", test.file)
		if result.Code != test.code || !strings.Contains(result.Stdout, test.want) {
			t.Errorf("from %s: exit code %d, want %d with %q: %s%s", test.from, result.Code, test.code, test.want,
				result.Stdout, result.Stderr)
		}
	}
}
