package static_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
)

// TestDynamicSectionsInTheFile proves that the sections of the dynamic configuration cause no finding where the file
// provider reads them from the configuration file, and a warning that says what to write where it does not.
func TestDynamicSectionsInTheFile(t *testing.T) {
	const warns = "belongs to the dynamic configuration, which is not read from this file; "
	for _, test := range []struct {
		name, file, text string
		want             []string
	}{
		{
			name: "the file itself", file: "traefik.yml",
			text: "providers: {file: {filename: DIR/traefik.yml}}\nHTTP: {routers: {a: {nonsense: 1}}}\ntls: []\nudp:\ntcp: {}\n",
		},
		{
			name: "the file itself, in TOML", file: "traefik.toml",
			text: "[providers.file]\nfilename = \"DIR/sub/../traefik.toml\"\n[http.routers.a]\nnonsense = 1\n",
		},
		{name: "its directory", file: "traefik.yml", text: "providers: {file: {directory: DIR}}\nhttp: {}\n"},
		{name: "a directory above", file: "sub/traefik.yml", text: "providers: {file: {directory: DIR}}\nhttp: {}\n"},
		{
			name: "a directory with a link to it", file: "traefik.yml",
			text: "providers: {file: {directory: LINKS}}\nhttp: {}\n",
		},
		{
			name: "no provider", file: "traefik.yml", text: "log: {}\nhttp: {}\ntls: {}\n",
			want: []string{
				"DIR/traefik.yml:2: option http: " + warns + "write providers.file.filename: DIR/traefik.yml",
				"DIR/traefik.yml:3: option tls: " + warns + "write providers.file.filename: DIR/traefik.yml",
			},
		},
		{
			name: "another file", file: "traefik.yml", text: "providers: {file: {filename: DIR/other.yml}}\nhttp: {}\n",
			want: []string{"DIR/traefik.yml:2: option http: " + warns + "move it to DIR/other.yml, which " +
				"providers.file.filename names, or name this file there"},
		},
		{
			name: "another directory", file: "traefik.yml", text: "providers: {file: {directory: DIR/sub}}\nhttp: {}\n",
			want: []string{"DIR/traefik.yml:2: option http: " + warns + "move it to a file in DIR/sub, which " +
				"providers.file.directory names"},
		},
		{
			name: "a file that the directory leaves out", file: "traefik.json",
			text: `{"providers": {"file": {"directory": "DIR"}}, "http": {}}`,
			want: []string{"DIR/traefik.json:1: option http: " + warns + "move it to a file in DIR, which " +
				"providers.file.directory names"},
		},
		{
			name: "not at the root", file: "traefik.yml",
			text: "providers: {file: {filename: DIR/traefik.yml, routers: {}}}\nentryPoints: {web: {address: ':80', tls: {}}}\n" +
				"htpp: {}\nservices: {}\ndashboard: true\n",
			want: []string{
				"DIR/traefik.yml:1: option providers.file.routers: belongs to the dynamic configuration: write it as " +
					"http.routers at the root of a file that providers.file.filename names, which may be the configuration file itself",
				"DIR/traefik.yml:2: option entryPoints.web.tls: is unknown; did you mean entryPoints.web.http.tls?",
				"DIR/traefik.yml:3: option htpp: is unknown; did you mean http?",
				"DIR/traefik.yml:4: option services: belongs to the dynamic configuration: write it as http.services at the " +
					"root of a file that providers.file.filename names, which may be the configuration file itself",
				"DIR/traefik.yml:5: option dashboard: is unknown; did you mean api.dashboard?",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, links := t.TempDir(), t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
				t.Fatal(err)
			}
			file, other := filepath.Join(dir, test.file), filepath.Join(dir, "other.yml")
			text := []byte(strings.NewReplacer("DIR", dir, "LINKS", links).Replace(test.text))
			if err := errors.Join(os.WriteFile(file, text, 0o600), os.WriteFile(other, nil, 0o600),
				os.Symlink(file, filepath.Join(links, "link.yml"))); err != nil {
				t.Fatal(err)
			}
			_, findings := static.Load(static.Sources{ConfigFile: file})
			var got []string
			for _, finding := range findings {
				got = append(got, strings.ReplaceAll(finding.String(), dir, "DIR"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
