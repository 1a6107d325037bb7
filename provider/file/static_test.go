package file

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// TestStaticSections proves that the static sections of the file of the static configuration are no finding, that
// those of other files are degraded verdicts with the place where they belong, and that nothing else is lost.
func TestStaticSections(t *testing.T) {
	dir := t.TempDir()
	own, other := filepath.Join(dir, "traefik.toml"), filepath.Join(dir, "other.yml")
	write(t, own, "[entryPoints.web]\naddress = ':80'\n[providers.file]\nfilename = 'x'\n"+
		"[http.routers.a]\nrule = '{{ \"a\" }}'\nservice = 's'\n")
	write(t, other, "entrypoints: {}\n"+router("b", "b")+"log: {}\nzones: 1\n")
	misplaced := func(place string) string {
		return " belongs to the static configuration and has no effect here; move it to " + place
	}
	for _, test := range []struct {
		name    string
		options []Option
		want    []string
	}{
		{"one file", []Option{WithStaticFile(filepath.Join(dir, ".", "traefik.toml"))}, []string{
			other + `:1: entrypoints` + misplaced(own),
			other + `:5: log` + misplaced(own),
			other + `:6: zones: unknown option`,
		}},
		{"no file", nil, []string{
			other + `:1: entrypoints` + misplaced("a file that --configFile names"),
			other + `:5: log` + misplaced("a file that --configFile names"),
			other + `:6: zones: unknown option`,
			own + `:1 (rendered): entryPoints` +
				misplaced("a file that --configFile names"),
			own + `:3 (rendered): providers` + misplaced("a file that --configFile names"),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := run(t, dir, static.FileProvider{Directory: dir}, test.options...).next()
			if rules(got) != "a=a b=b" {
				t.Errorf("rules %s", rules(got))
			}
			for _, verdict := range got.Configuration.Verdicts {
				if misplaced := verdict.Code == dynamic.CodeIneffectiveOption; misplaced != (verdict.Status == dynamic.Degraded) {
					t.Errorf("%s: %s, %s", verdict, verdict.Status, verdict.Code)
				}
			}
			if diff := cmp.Diff(test.want, slices.Sorted(slices.Values(verdicts(got)))); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}
