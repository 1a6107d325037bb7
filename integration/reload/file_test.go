package reload

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestHangup reads the files again on SIGHUP, and only then when they are not watched.
func TestHangup(t *testing.T) {
	t.Parallel()
	s, client := startSimple(t, "false", map[string]string{"one.yaml": simple("1")})
	s.Write("one.yaml", simple("2"))
	if !answersWith("1")(client.Get("/")) {
		t.Error("the file was read again without SIGHUP")
	}
	s.Signal(syscall.SIGHUP)
	await(t, client, "/", answersWith("2"))
}

// TestHalfWritten breaks one of two files in place: its last valid state serves, the other file can still change, and
// log and /ready report the error until it is repaired.
func TestHalfWritten(t *testing.T) {
	t.Parallel()
	other := func(version string) string {
		return strings.NewReplacer("one", "two", "`/`", "`/two`", "version:", "other:", "[version]",
			"[other]").Replace(simple(version))
	}
	s, client := startSimple(t, "true", map[string]string{"one.yaml": simple("1"), "two.yaml": other("1")})
	await(t, client, "/two", answersWith("1"))

	whole := simple("2")
	s.Overwrite("one.yaml", whole[:strings.Index(whole, "middlewares: {version")+20])
	s.WaitLog("refused", "one.yaml")
	s.Overwrite("two.yaml", other("2"))
	await(t, client, "/two", answersWith("2"))
	if !answersWith("1")(client.Get("/")) {
		t.Error("the last good state does not serve")
	}
	s.Until("/ready names the file", func(r harness.Readiness) bool {
		return r.Status == http.StatusOK && slices.ContainsFunc(r.Verdicts, func(v harness.Finding) bool {
			return strings.Contains(v.Origin, "one.yaml")
		})
	})

	s.Overwrite("one.yaml", whole)
	await(t, client, "/", answersWith("2"))
}

// TestConfigMap swaps a directory behind a symlink, as the kubelet does when a ConfigMap changes.
func TestConfigMap(t *testing.T) {
	t.Parallel()
	s, client := startSimple(t, "true", nil)
	publish := func(folder, version string) {
		t.Helper()
		must(t, os.Mkdir(filepath.Join(s.DynamicDir, folder), 0o755))
		must(t, os.WriteFile(filepath.Join(s.DynamicDir, folder, "one.yaml"), []byte(s.Expand(simple(version))), 0o600))
		must(t, os.Symlink(folder, filepath.Join(s.DynamicDir, "..data_tmp")))
		must(t, os.Rename(filepath.Join(s.DynamicDir, "..data_tmp"), filepath.Join(s.DynamicDir, "..data")))
	}
	publish("..2026_01_01", "1")
	must(t, os.Symlink(filepath.Join("..data", "one.yaml"), filepath.Join(s.DynamicDir, "one.yaml")))
	await(t, client, "/", answersWith("1"))
	publish("..2026_01_02", "2")
	must(t, os.RemoveAll(filepath.Join(s.DynamicDir, "..2026_01_01")))
	await(t, client, "/", answersWith("2"))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
