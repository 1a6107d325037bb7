package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// binaryVariable is the environment variable with the path of the binary to test. It does not begin with SLUICE_, the
// prefix of options.
const binaryVariable = "TEST_SLUICE"

// Main is called by TestMain of a package: it builds Sluice once, unless TEST_SLUICE names a binary, runs the tests,
// and checks for leaked goroutines. Its result is the exit code. A test binary with the race detector builds Sluice
// with the race detector. m is a *testing.M, or a wrapper.
func Main(m interface{ Run() int }, leaks ...goleak.Option) int {
	remove, err := provide()
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "harness: %v\n", err)
		return 1
	}
	defer remove()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(leaks...); err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "harness: goroutines are left: %v\n", err)
			return 1
		}
	}
	return code
}

// Binary returns the path of the binary to test. It fails the test if TestMain did not call Main.
func Binary(t testing.TB) string {
	t.Helper()
	path := os.Getenv(binaryVariable)
	if path == "" {
		t.Fatal("no binary: TestMain must call harness.Main")
	}
	return path
}

// provide sets TEST_SLUICE to the path of a binary. The returned function removes a built one.
func provide() (func(), error) {
	if path := os.Getenv(binaryVariable); path != "" {
		_, err := os.Stat(path)
		return func() {}, err
	}
	folder, err := os.MkdirTemp("", "sluice-test-")
	if err != nil {
		return nil, err
	}
	remove := func() { _ = os.RemoveAll(folder) }
	path := filepath.Join(folder, "sluice")
	args := []string{"build", "-o", path}
	if raceDetector() {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "github.com/sluiceproxy/sluice/cmd/sluice")...) //nolint:noctx // TestMain has no context.
	if output, err := build.CombinedOutput(); err != nil {
		remove()
		return nil, fmt.Errorf("go build: %w\n%s", err, output)
	}
	if err := os.Setenv(binaryVariable, path); err != nil {
		remove()
		return nil, err
	}
	return remove, nil
}

// raceDetector reports whether this test binary was built with -race.
func raceDetector() bool {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return false
	}
	for _, setting := range build.Settings {
		if setting.Key == "-race" && setting.Value == "true" {
			return true
		}
	}
	return false
}
