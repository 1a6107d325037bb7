package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/integration/cluster/node"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// Environment of this test binary when it starts again: the directory of its cluster and the control plane's program.
// missingVariable is the reason why there is no cluster.
const (
	folderVariable  = "TEST_CLUSTER"
	programVariable = "TEST_CLUSTER_PROGRAM"
	missingVariable = "TEST_CLUSTER_MISSING"
)

// Main is called by TestMain of a package instead of harness.Main, which it includes: it builds the control plane
// unless it exists, starts the test binary again in a network namespace of its own, runs the tests, and stops the
// control plane. Its result is the exit code; leaks are the goroutines of libraries that may be left.
func Main(m *testing.M, leaks ...goleak.Option) int {
	if node.IsPod() {
		return node.RunPod()
	}
	if os.Getenv(folderVariable) == "" && os.Getenv(missingVariable) == "" {
		reason := prepare()
		if !errors.Is(reason, errDenied) && !errors.Is(reason, errNoProgram) {
			_, _ = fmt.Fprintf(os.Stderr, "cluster: %v\n", reason)
			return 1
		}
		if err := os.Setenv(missingVariable, reason.Error()); err != nil {
			_, _ = fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
			return 1
		}
	}
	code := harness.Main(tests{m}, leaks...)
	if err := os.RemoveAll(os.Getenv(folderVariable)); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		return 1
	}
	return code
}

// errNoProgram means that the control plane does not build here.
var errNoProgram = errors.New("missing tool: the control plane")

// tests are the tests of a package with the clean-up after them.
type tests struct{ m *testing.M }

// Run runs the tests and stops the control plane if it runs.
func (t tests) Run() int {
	code := t.m.Run()
	folder := os.Getenv(folderVariable)
	if folder == "" {
		return code
	}
	if err := (&controlPlane{folder}).stop(); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		return 1
	}
	return code
}

// prepare does everything that needs a network and enters the namespace. It returns only on failure.
func prepare() error {
	if os.Geteuid() != 0 {
		return errDenied
	}
	root, err := repository()
	if err != nil {
		return err
	}
	program, err := build(root)
	if err != nil {
		return err
	}
	// The modules of Sluice must be downloaded before the network is gone.
	list := exec.Command("go", "list", "-deps", "./cmd/sluice") //nolint:noctx // TestMain has no context.
	list.Dir = root
	if output, err := list.CombinedOutput(); err != nil {
		return fmt.Errorf("go list: %w\n%s", err, output)
	}
	folder, err := os.MkdirTemp("", "sluice-cluster-")
	if err != nil {
		return err
	}
	err = enter(folderVariable+"="+folder, programVariable+"="+program)
	return errors.Join(err, os.RemoveAll(folder))
}

// build builds the control plane by .ci/tools, unless it exists, and returns its path.
func build(root string) (string, error) {
	command := exec.CommandContext(context.Background(), filepath.Join(root, ".ci", "tools"), "cluster")
	var complaint bytes.Buffer
	command.Stderr = &complaint
	output, err := command.Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	program := lines[len(lines)-1]
	if err != nil || !filepath.IsAbs(program) {
		return "", fmt.Errorf("%w: %s %s", errNoProgram, program, bytes.TrimSpace(complaint.Bytes()))
	}
	return program, nil
}

// repository finds the root of the repository.
func repository() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, ".ci", "tools")); err == nil {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("the tests run outside their repository")
		}
		folder = above
	}
}
