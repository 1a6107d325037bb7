package input

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// start runs Sluice with the rest and other files, and waits for nothing.
func start(t *testing.T, files map[string]string) *harness.Sluice {
	t.Helper()
	files["rest.yaml"] = rest
	return harness.Start(t, harness.Setup{Static: static, Dynamic: files, NotReady: true, Vars: map[string]string{
		"BACKEND": backend(t, "backend"), "BELOW": backend(t, "below"),
	}})
}

// check runs check on the files of a running Sluice.
func check(t *testing.T, s *harness.Sluice) harness.Result {
	t.Helper()
	return harness.Run(t, s.Dir, nil, "check", "--configFile="+filepath.Join(s.Dir, "sluice.yaml"))
}

// route declares a router for a host.
func route(name, host string) string {
	return fmt.Sprintf("http:\n  routers:\n    %s: {rule: \"Host(`%s`)\", service: rest}\n", name, host)
}

func TestAFileOfTenMegabytesIsRead(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	var text strings.Builder
	text.WriteString("http:\n  routers:\n")
	for i := 0; text.Len() < size; i++ {
		if i%1000 == 0 {
			fmt.Fprintf(&text, "    big%d: {rule: \"Host(`big%d.test`)\", service: rest}\n", i, i)
		}
		fmt.Fprintf(&text, "    # %s\n", strings.Repeat("x", 200))
	}
	s := start(t, map[string]string{"big.yaml": text.String()})
	s.Until("ready", func(r harness.Readiness) bool { return r.Ready })
	for _, host := range []string{"big0.test", "big50000.test", "rest.test"} {
		if got := ask(t, s, host); got != served {
			t.Errorf("%s is answered with %q", host, got)
		}
	}
	if result := check(t, s); result.Code != 0 {
		t.Errorf("check: %d %s", result.Code, result.Stdout)
	}
}

func TestAFileBeyondTheLimitKeepsItsLastGoodState(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"big.yaml": route("big", "bad.test")})
	s.Until("ready", func(r harness.Readiness) bool { return r.Ready })
	s.Write("big.yaml", route("other", "bad.test")+strings.Repeat("# filled\n", 4<<20))
	const reason = "has 37748806 bytes, more than the 33554432 that are read"
	ready := s.Until("a finding", func(r harness.Readiness) bool { return len(r.Verdicts) == 1 })
	if got := ready.Verdicts[0].Reason; !ready.Ready || !strings.HasPrefix(got, reason+"; refused since ") ||
		!strings.HasSuffix(got, ", the last valid definition stays in use") {
		t.Errorf("/ready says %q", got)
	}
	if got := ask(t, s, "bad.test"); got != served {
		t.Errorf("the last good state is gone: %s", got)
	}
	file := filepath.Join(s.DynamicDir, "big.yaml")
	want := fmt.Sprintf("%s: %s [InvalidSource]", file, reason)
	if result := check(t, s); result.Code != 1 || lines(result.Stdout)[0] != want {
		t.Errorf("check: %d %s", result.Code, result.Stdout)
	}
}

func TestAFileThatBreaksKeepsItsLastGoodState(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"one.yaml": route("one", "one.test"), "two.yaml": route("two", "two.test")})
	s.Until("ready", func(r harness.Readiness) bool { return r.Ready })
	for _, broken := range []string{
		"http:\n  routers:\n    one: {rule: \"Host(", "http: [", "\x00", "- a list", "ht",
		"http:\n  routers:\n    {{ if",
	} {
		s.Overwrite("one.yaml", broken)
		s.Until("a finding", func(r harness.Readiness) bool { return r.Retained == 1 && r.Verdicts[0].Kind == "source" })
		for _, host := range []string{"one.test", "two.test", "rest.test"} {
			if got := ask(t, s, host); got != served {
				t.Errorf("after %q, %s is answered with %q", broken, host, got)
			}
		}
		s.Write("one.yaml", route("one", "one.test"))
		s.Until("recovery", func(r harness.Readiness) bool { return r.Retained == 0 })
	}
	s.WaitLog("object has recovered or is gone", "one.yaml")
	s.Overwrite("one.yaml", "http: [")
	s.Apply(func() { s.Write("two.yaml", route("two", "three.test")) })
	if got := ask(t, s, "three.test") + ask(t, s, "one.test"); got != served+served {
		t.Errorf("beside a broken file, changes of another one are answered with %q", got)
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, option string
		prepare      func(t *testing.T, dir string)
		says         string
	}{
		{
			"no directory", "directory=${DIR}/absent", nil,
			"${DIR}/absent: cannot be read: no such file or directory [UnreadableSource]\n",
		},
		{"a file where a directory is expected", "directory=${DIR}/file", func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, "file"), "")
		}, "${DIR}/file: cannot be read: not a directory [UnreadableSource]\n"},
		{"a link to nowhere for a directory", "directory=${DIR}/link", func(t *testing.T, dir string) {
			link(t, "nowhere", filepath.Join(dir, "link"))
		}, "${DIR}/link: cannot be read: no such file or directory [UnreadableSource]\n"},
		{"a link to nowhere in the directory", "directory=${DIR}/inner", func(t *testing.T, dir string) {
			link(t, "nowhere", filepath.Join(dir, "inner", "a.yaml"))
		}, "${DIR}/inner/a.yaml: cannot be read: no such file or directory " +
			"[UnreadableSource]\n"},
		{
			"no file", "filename=${DIR}/absent.yaml", nil,
			"${DIR}/absent.yaml: cannot be read: no such file or directory [UnreadableSource]\n",
		},
		{
			"a directory where a file is expected", "filename=${DIR}/inner", nil,
			"${DIR}/inner: cannot be read: it is a directory; name it with providers.file.directory [UnreadableSource]\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "inner"), 0o755); err != nil {
				t.Fatal(err)
			}
			if test.prepare != nil {
				test.prepare(t, dir)
			}
			option := "--providers.file." + strings.ReplaceAll(test.option, "${DIR}", dir)
			result := harness.Run(t, dir, nil, "check", "--entryPoints.web.address=127.0.0.1:0", option)
			got, summary, _ := strings.Cut(strings.ReplaceAll(result.Stdout, dir, "${DIR}"), "\n")
			if result.Code != 1 || got+"\n" != test.says || !strings.Contains(summary, "; 1 error, 0 warnings") {
				t.Errorf("check: %d\n%s\n%s want\n%s", result.Code, got, summary, test.says)
			}
			s := harness.Start(t, harness.Setup{NotReady: true, Args: []string{
				"--entryPoints.web.address=127.0.0.1:0", "--entryPoints.traefik.address=127.0.0.1:0", "--ping=true", option,
			}})
			ready := s.Until("a finding", func(r harness.Readiness) bool { return len(r.Verdicts) == 1 })
			if ready.Status != 503 || ready.Ready {
				t.Errorf("/ready answers %d, though nothing could be read", ready.Status)
			}
			if got := strings.ReplaceAll(findings(ready)[0], dir, "${DIR}") + "\n"; got != test.says {
				t.Errorf("/ready says %q", got)
			}
		})
	}
}

func TestADirectoryThatGoesAwayKeepsItsLastGoodState(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{})
	s.Until("ready", func(r harness.Readiness) bool { return r.Ready })
	gone := s.DynamicDir + ".gone"
	if err := os.Rename(s.DynamicDir, gone); err != nil {
		t.Fatal(err)
	}
	ready := s.Until("a finding", func(r harness.Readiness) bool { return len(r.Verdicts) == 1 })
	if reason := ready.Verdicts[0].Reason; !ready.Ready || reason != "cannot be read: no such file or directory" {
		t.Errorf("/ready: %t, %q", ready.Ready, reason)
	}
	if got := ask(t, s, "rest.test"); got != served {
		t.Errorf("the last good state is gone: %s", got)
	}
	if err := os.Rename(gone, s.DynamicDir); err != nil {
		t.Fatal(err)
	}
	s.Until("recovery", func(r harness.Readiness) bool { return len(r.Verdicts) == 0 })
	s.Apply(func() { s.Write("new.yaml", route("new", "new.test")) })
	if got := ask(t, s, "new.test"); got != served {
		t.Errorf("the directory that came back is not watched: %s", got)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, file string) {
	t.Helper()
	if err := os.Symlink(target, file); err != nil {
		t.Fatal(err)
	}
}
