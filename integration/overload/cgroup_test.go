package overload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// group is a control group of the kernel with a limit of memory.
type group struct {
	dir string
	// peak and kills are its files with the highest use, and with the line oom_kill.
	peak, kills string
}

// newGroup makes a control group with a limit in bytes, of version 2 where that has the controller of memory,
// otherwise of version 1. It is removed at the end of the test.
func newGroup(t *testing.T, limit int64) *group {
	t.Helper()
	const root = "/sys/fs/cgroup"
	name := fmt.Sprintf("sluice-test-%d", os.Getpid())
	g := &group{dir: filepath.Join(root, name), peak: "memory.peak", kills: "memory.events"}
	limits := [][2]string{{"memory.max", strconv.FormatInt(limit, 10)}, {"memory.swap.max", "0"}}
	if _, err := os.Stat(filepath.Join(root, "memory")); err == nil {
		g = &group{dir: filepath.Join(root, "memory", name), peak: "memory.max_usage_in_bytes", kills: "memory.oom_control"}
		limits[0][0], limits[1] = "memory.limit_in_bytes", [2]string{"memory.memsw.limit_in_bytes", limits[0][1]}
	} else if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory"), 0); err != nil {
		t.Skipf("missing tool: cgroup v2 that can be written: %v", err)
	}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Skipf("missing tool: cgroup v2 or v1 that can be written: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(g.dir); err != nil {
			t.Error(err)
		}
	})
	for i, one := range limits {
		err := os.WriteFile(filepath.Join(g.dir, one[0]), []byte(one[1]), 0)
		if err != nil && (i == 0 || !errors.Is(err, os.ErrNotExist)) { // Not every kernel counts swap.
			t.Skipf("missing tool: a cgroup with the controller of memory: %v", err)
		}
	}
	return g
}

// procs is the file that a process writes itself into.
func (g *group) procs() string { return filepath.Join(g.dir, "cgroup.procs") }

// killed returns how many processes the kernel has ended because the memory was used up.
func (g *group) killed(t *testing.T) int {
	t.Helper()
	for line := range strings.Lines(g.read(t, g.kills)) {
		if count, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.Atoi(strings.TrimSpace(count))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no line oom_kill", g.kills)
	return 0
}

func (g *group) read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
