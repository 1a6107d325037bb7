package file

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

func TestSavesAreSeen(t *testing.T) {
	h := inDirectory(t, "a.yaml", router("a", "1"))
	h.untilRules("a=1")

	write(t, h.path("a.yaml"), router("a", "2"))
	h.untilRules("a=2")

	replace(t, h.path("a.yaml"), router("a", "3"))
	h.untilRules("a=3")

	must(t, os.Rename(h.path("a.yaml"), h.path("a.bak")))
	write(t, h.path("a.yaml"), router("a", "4"))
	h.untilRules("a=4")

	write(t, h.path("b.yaml"), router("b", "1"))
	h.untilRules("a=4 b=1")

	must(t, os.Remove(h.path("a.yaml")))
	h.untilRules("b=1")

	write(t, h.path("b.yaml"), "")
	h.untilRules("")
}

func TestNewDirectoriesAreWatched(t *testing.T) {
	h := inDirectory(t, "a.yaml", router("a", "1"))
	h.untilRules("a=1")
	write(t, h.path("new/er/b.yaml"), router("b", "1"))
	h.untilRules("a=1 b=1")
	write(t, h.path("new/er/b.yaml"), router("b", "2"))
	h.untilRules("a=1 b=2")
	must(t, os.Rename(h.path("new"), h.path("moved")))
	write(t, h.path("moved/er/b.yaml"), router("b", "3"))
	h.untilRules("a=1 b=3")
	must(t, os.RemoveAll(h.path("moved")))
	h.untilRules("a=1")
}

// configMap makes a directory look like a mounted ConfigMap and returns a function that updates it.
func configMap(t *testing.T, dir string, text string) (update func(text string)) {
	t.Helper()
	version := 0
	publish := func(text string) {
		version++
		name := fmt.Sprintf("..v%d", version)
		write(t, filepath.Join(dir, name, "dyn.yaml"), text)
		must(t, os.Symlink(name, filepath.Join(dir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		must(t, os.RemoveAll(filepath.Join(dir, fmt.Sprintf("..v%d", version-1))))
	}
	publish(text)
	must(t, os.Symlink(filepath.Join("..data", "dyn.yaml"), filepath.Join(dir, "dyn.yaml")))
	return publish
}

func TestConfigMaps(t *testing.T) {
	for _, byName := range []bool{false, true} {
		t.Run(fmt.Sprintf("by name %v", byName), func(t *testing.T) {
			dir := t.TempDir()
			publish := configMap(t, dir, router("a", "1"))
			config := static.FileProvider{Directory: dir, Watch: true}
			if byName {
				config = static.FileProvider{Filename: filepath.Join(dir, "dyn.yaml"), Watch: true}
			}
			h := run(t, dir, config)
			for i := range 3 {
				want := fmt.Sprintf("a=%d", i+1)
				if m := h.untilRules(want); len(verdicts(m)) > 0 {
					t.Errorf("verdicts %v", verdicts(m))
				}
				publish(router("a", fmt.Sprint(i+2)))
			}
		})
	}
}

func TestLinksAreFollowed(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "b.yaml"), router("b", "1"))
	write(t, filepath.Join(outside, "tree", "c.yaml"), router("c", "1"))
	h := inDirectory(t, "a.yaml", router("a", "1"))
	h.untilRules("a=1")
	must(t, os.Symlink(filepath.Join(outside, "b.yaml"), h.path("b.yaml")))
	must(t, os.Symlink(filepath.Join(outside, "tree"), h.path("tree")))
	must(t, os.Symlink(h.dir, h.path("loop")))
	h.untilRules("a=1 b=1 c=1")
	replace(t, filepath.Join(outside, "b.yaml"), router("b", "2"))
	h.untilRules("a=1 b=2 c=1")
	replace(t, filepath.Join(outside, "tree", "c.yaml"), router("c", "2"))
	h.untilRules("a=1 b=2 c=2")
}

// TestHalfWritten writes a file in place, slowly: it is empty at first, then cut off, then complete.
func TestHalfWritten(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), router("a", "1"))
	write(t, filepath.Join(dir, "b.yaml"), router("b", "1"))
	h := run(t, dir, static.FileProvider{Directory: dir, Watch: true}, WithSettle(250*time.Millisecond))
	h.untilRules("a=1 b=1")

	file, err := os.Create(h.path("a.yaml"))
	must(t, err)
	defer func() { _ = file.Close() }()
	replace(t, h.path("b.yaml"), router("b", "2"))
	if m := h.next(); rules(m) != "a=1 b=2" {
		t.Errorf("while the file is empty: %s", rules(m))
	}
	text := "http:\n  routers:\n    a: {rule: \"2\"}\n"
	_, err = file.WriteString(text[:len(text)-8])
	must(t, err)
	if m := h.untilVerdict("a.yaml:3"); rules(m) != "a=1 b=2" {
		t.Errorf("while the file is cut off: %s", rules(m))
	}
	_, err = file.WriteString(text[len(text)-8:])
	must(t, err)
	if m := h.next(); rules(m) != "a=2 b=2" || len(verdicts(m)) > 0 {
		t.Errorf("when the file is complete: %s, %v", rules(m), verdicts(m))
	}
}

func TestAMissingFileMayAppear(t *testing.T) {
	dir := t.TempDir()
	h := run(t, dir, static.FileProvider{Filename: filepath.Join(dir, "new", "dyn.yaml"), Watch: true})
	if m := h.next(); m.State != dynamic.StateForbidden {
		t.Errorf("state %v", m.State)
	}
	write(t, h.path("new/dyn.yaml"), router("a", "1"))
	if m := h.untilRules("a=1"); m.State != dynamic.StateSynced || m.Reason != "" {
		t.Errorf("state %v %q", m.State, m.Reason)
	}
}

// TestTheNamedFileMayVanish proves that the one file that was named is a mistake when it is gone, not an empty state.
func TestTheNamedFileMayVanish(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "dyn.yaml"), router("a", "1"))
	h := run(t, dir, static.FileProvider{Filename: filepath.Join(dir, "sub", "dyn.yaml"), Watch: true})
	h.untilRules("a=1")
	must(t, os.RemoveAll(h.path("sub")))
	if m := h.untilVerdict("no such file"); rules(m) != "a=1" {
		t.Errorf("rules %s", rules(m))
	}
	write(t, h.path("sub/dyn.yaml"), router("a", "2"))
	h.untilRules("a=2")
}

func TestTheDirectoryMayVanish(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "conf")
	write(t, filepath.Join(dir, "a.yaml"), router("a", "1"))
	h := run(t, dir, static.FileProvider{Directory: dir, Watch: true})
	h.untilRules("a=1")
	must(t, os.Rename(dir, dir+".old"))
	if m := h.untilVerdict("cannot be read"); rules(m) != "a=1" {
		t.Errorf("rules %s", rules(m))
	}
	write(t, dir+".new/a.yaml", router("a", "2"))
	must(t, os.Rename(dir+".new", dir))
	h.untilRules("a=2")
	write(t, filepath.Join(dir, "a.yaml"), router("a", "3"))
	h.untilRules("a=3")
}

// TestNoNewsNoMessage asserts that irrelevant events send no message: the next message is that of the change.
func TestNoNewsNoMessage(t *testing.T) {
	h := inDirectory(t, "a.yaml", router("a", "1"))
	h.untilRules("a=1")
	write(t, h.path("notes.txt"), "x")
	replace(t, h.path("a.yaml"), router("a", "1"))
	write(t, h.path("b.yaml"), router("b", "1"))
	if m := h.next(); rules(m) != "a=1 b=1" {
		t.Errorf("rules %s", rules(m))
	}
}
