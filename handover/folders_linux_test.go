package handover_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/handover"
)

// TestFoldersAbove refuses a path on which another user could put another folder in the place of one.
func TestFoldersAbove(t *testing.T) {
	root := filepath.Dir(socketPath(t))
	folder := func(name string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	link := func(target, name string) string {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(root, name)
	}
	open, sticky, group := folder("open", 0o700), folder("sticky", 0o700), folder("group", 0o700)
	safe := folder("safe", 0o700)
	folder("open/a", 0o700)
	folder("open/a/b", 0o700)
	folder("sticky/a", 0o700)
	folder("group/a", 0o755)
	tests := map[string]string{
		safe:                             "",
		filepath.Join(sticky, "a"):       "",
		filepath.Join(open, "a"):         open + " has the mode 0707",
		filepath.Join(open, "a/b"):       open + " has the mode 0707",
		filepath.Join(group, "a"):        group + " has the mode 0770",
		link("open/a/b", "into"):         open + " has the mode 0707",
		link("safe", "fine"):             "",
		link("fine/../fine", "back"):     "",
		link(safe, "open/link"):          open + " has the mode 0707",
		link("open/a/../../safe", "out"): open + " has the mode 0707",
	}
	if os.Geteuid() == 0 {
		others := folder("others", 0o755)
		folder("others/a", 0o700)
		tests[filepath.Join(others, "a")] = others + " belongs to the user 65534"
		foreign := link(safe, "sticky/link")
		tests[foreign] = foreign + " belongs to the user 65534"
		if err := errors.Join(os.Chown(others, otherUser, -1), os.Lchown(foreign, otherUser, -1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Chmod(open, 0o707), os.Chmod(group, 0o770), os.Chmod(sticky, 0o777|os.ModeSticky),
	); err != nil {
		t.Fatal(err)
	}
	for directory, want := range tests {
		server, err := handover.Listen(filepath.Join(directory, "s"))
		if server != nil {
			_ = server.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", directory, err, want)
		}
	}
}
