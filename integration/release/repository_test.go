package release

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// command runs a program and returns its standard output. The test fails, with all output, when the program does.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	output, err := try(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, output)
	}
	return output
}

// try runs a program and returns its standard output and, if it fails, its standard error.
func try(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	run := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	run.Dir, run.Env = dir, append(os.Environ(), "LC_ALL=C", "PLATFORMS="+platforms(),
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_AUTHOR_DATE=1767225600 +0000",
		"GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@example.com", "GIT_COMMITTER_DATE=1767225600 +0000")
	output, err := run.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		return string(output) + string(exit.Stderr), err
	}
	return string(output), err
}

// platforms are those for which the release is made; empty means all.
func platforms() string {
	if all() {
		return ""
	}
	return "linux/" + runtime.GOARCH
}

// repository is a git repository with the files of this one.
type repository string

// newRepository copies the files of this repository, with changes that are not committed, into one of its own and
// commits them.
func newRepository(t *testing.T) repository {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("missing tool: git")
	}
	if output, err := try(t, root, "git", "rev-parse", "--git-dir"); err != nil {
		t.Skipf("not a git repository: %s", output)
	}
	if output := command(t, root, ".ci/tools", "release"); strings.Contains(output, "tools: missing: ") {
		t.Skip("missing tool: " + output)
	}
	r := repository(t.TempDir())
	list := strings.Split(command(t, root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00")
	for _, name := range list {
		copyFile(t, filepath.Join(root, name), r.path(name))
	}
	r.shareTools(t, root)
	command(t, string(r), "git", "init", "--quiet", "--initial-branch=main")
	return r
}

// copyFile copies a regular file or a symbolic link, with its mode. What is not there is left out: git lists files that
// have been removed.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Lstat(from)
	if err != nil || info.IsDir() {
		return
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // A working tree is for everybody.
		t.Fatal(err)
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err == nil {
			err = os.Symlink(target, to)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, info.Mode().Perm())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shareTools lets the repository use the tools of another working tree.
func (r repository) shareTools(t *testing.T, root string) {
	t.Helper()
	if err := os.MkdirAll(r.path(".cache"), 0o755); err != nil { //nolint:gosec // A working tree is for everybody.
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, ".cache/bin"), r.path(".cache/bin")); err != nil {
		t.Fatal(err)
	}
}

func (r repository) path(name string) string { return filepath.Join(string(r), name) }

// edit replaces a text in a file once.
func (r repository) edit(t *testing.T, name, from, to string) {
	t.Helper()
	content, err := os.ReadFile(r.path(name))
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(content), from, to, 1)
	if edited == string(content) {
		t.Fatalf("%s does not contain %q", name, from)
	}
	if err := os.WriteFile(r.path(name), []byte(edited), 0o644); err != nil { //nolint:gosec // A working tree is for everybody.
		t.Fatal(err)
	}
}

// tag commits everything and gives it a tag.
func (r repository) tag(t *testing.T, tag string) {
	t.Helper()
	command(t, string(r), "git", "add", "--all")
	command(t, string(r), "git", "commit", "--quiet", "--message", tag)
	command(t, string(r), "git", "tag", tag)
}

// clone returns a repository with the same commits in another folder.
func (r repository) clone(t *testing.T) repository {
	t.Helper()
	other := repository(filepath.Join(t.TempDir(), "another folder"))
	command(t, "/", "git", "clone", "--quiet", string(r), string(other))
	other.shareTools(t, string(r))
	return other
}

// release runs `make release` and returns the folder that it has filled.
func (r repository) release(t *testing.T) string {
	t.Helper()
	command(t, string(r), "make", "--silent", "release")
	return r.path("dist/release")
}
