package static

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/forwarded"
)

// load loads a configuration whose file has the given text; without a text there is no file.
func load(t *testing.T, yaml string, environ, args []string) (Loaded, []Finding) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Sources{ConfigFile: file, Environ: environ, Args: args})
}

// differences returns what is in the configuration and not in the default one, as path = value.
func differences(t *testing.T, c *Configuration) []string {
	t.Helper()
	loaded, _ := load(t, "", nil, nil)
	d := differ{t: t}
	d.compare("", reflect.ValueOf(c).Elem(), reflect.ValueOf(loaded.Configuration).Elem())
	return d.lines
}

type differ struct {
	t     *testing.T
	lines []string
}

func (d *differ) compare(path string, got, def reflect.Value) {
	switch got.Kind() {
	case reflect.Pointer:
		if got.IsNil() {
			return
		}
		if def.IsNil() {
			d.lines = append(d.lines, path)
			def = withDefaults(got.Type().Elem())
		}
		d.compare(path, got.Elem(), def.Elem())
	case reflect.Struct:
		for i := range got.NumField() {
			name := strings.TrimPrefix(path+"."+got.Type().Field(i).Tag.Get("json"), ".")
			d.compare(name, got.Field(i), def.Field(i))
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(slices.Values(got.MapKeys()), func(a, b reflect.Value) int {
			return strings.Compare(a.String(), b.String())
		}) {
			element := reflect.New(got.Type().Elem()).Elem()
			d.compare(path+"."+key.String(), got.MapIndex(key), element)
		}
	default:
		if reflect.DeepEqual(got.Interface(), def.Interface()) {
			return
		}
		text, err := json.Marshal(got.Interface())
		if err != nil {
			d.t.Fatal(err)
		}
		d.lines = append(d.lines, path+" = "+string(text))
	}
}

// TestLoadGolden loads testdata/load/NAME.yaml and NAME.toml, and compares findings and what differs from the
// defaults with the file of the same name and .golden.
func TestLoadGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.*ml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			loaded, findings := Load(Sources{ConfigFile: file})
			var b strings.Builder
			for _, finding := range findings {
				fmt.Fprintf(&b, "%s: %s\n", finding.Severity, strings.TrimPrefix(finding.String(), "testdata/load/"))
			}
			b.WriteString("---\n")
			for _, line := range differences(t, loaded.Configuration) {
				b.WriteString(line + "\n")
			}
			golden(t, file+".golden", []byte(b.String()))
		})
	}
}

// TestLanguagesAgree proves that YAML and TOML with the same content mean the same.
func TestLanguagesAgree(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for _, file := range files {
		twin := strings.TrimSuffix(file, ".toml") + ".yaml"
		if _, err := os.Stat(twin); err != nil {
			continue
		}
		pairs++
		toml, _ := Load(Sources{ConfigFile: file})
		yaml, _ := Load(Sources{ConfigFile: twin})
		if diff := cmp.Diff(yaml.Configuration, toml.Configuration, cmp.Comparer(sameRange)); diff != "" {
			t.Errorf("%s (-yaml +toml):\n%s", file, diff)
		}
	}
	if pairs < 2 {
		t.Errorf("only %d pairs", pairs)
	}
}

func sameRange(a, b forwarded.Range) bool { return a == b }

// precedenceFile is what the cases of precedence have in their file.
const precedenceFile = "entryPoints:\n  Web: {address: ':1', asDefault: true, forwardedHeaders: {trustedIPs: " +
	"[10.0.0.1]}}\n" +
	"  web-secure: {address: ':2'}\nlog: {level: WARN}\nping: {}\n"

// precedence is one case: what is in the environment and in the flags, and what comes of it.
type precedence struct {
	name    string
	environ []string
	args    []string
	want    []string // lines that must be among the differences, or must not with a leading !
}

// TestPrecedence proves file < environment < flags, per option, whatever the case.
func TestPrecedence(t *testing.T) {
	for _, test := range []precedence{
		{
			name: "file alone",
			want: []string{
				`entryPoints.Web.address = ":1"`, `log.level = "WARN"`, `ping`,
				`entryPoints.traefik.address = ":8080"`,
			},
		},
		{
			name:    "environment over file, one option only",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_ADDRESS=:3", "OTHER=1"},
			want:    []string{`entryPoints.Web.address = ":3"`, `entryPoints.Web.asDefault = true`, `!entryPoints.web.address`},
		},
		{
			name: "environment over that of Traefik, one option only",
			environ: []string{
				"SLUICE_ENTRYPOINTS_WEB_ADDRESS=:3", "TRAEFIK_ENTRYPOINTS_WEB_ADDRESS=:9", "TRAEFIK_LOG_LEVEL=ERROR",
			},
			want: []string{`entryPoints.Web.address = ":3"`, `log.level = "ERROR"`},
		},
		{
			name:    "flag over environment",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_ADDRESS=:3", "SLUICE_LOG_LEVEL=DEBUG"},
			args:    []string{"--ENTRYPOINTS.WEB.ADDRESS=:4"},
			want:    []string{`entryPoints.Web.address = ":4"`, `log.level = "DEBUG"`},
		},
		{
			name:    "an option without a section",
			environ: []string{"SLUICE_ZONE=a"},
			want:    []string{`zone = "a"`},
		},
		{
			name:    "an option without a section, by flag",
			environ: []string{"SLUICE_ZONE=a"},
			args:    []string{"--zone=b"},
			want:    []string{`zone = "b"`},
		},
		{
			name:    "a name with a dash",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_SECURE_ADDRESS=:5"},
			want:    []string{`entryPoints.web-secure.address = ":5"`},
		},
		{
			name:    "a new name with an underscore",
			environ: []string{"SLUICE_ENTRYPOINTS_MY_OWN_ADDRESS=:6", "SLUICE_ENTRYPOINTS_MY_OWN_HTTP_TLS_OPTIONS=o"},
			want:    []string{`entryPoints.my_own.address = ":6"`, `entryPoints.my_own.http.tls.options = "o"`},
		},
		{
			name: "a new name keeps its case in a flag",
			args: []string{"--entryPoints.Metrics.address", ":7"},
			want: []string{`entryPoints.Metrics.address = ":7"`},
		},
		{
			name:    "lists are replaced as a whole and joined within the flags",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_FORWARDEDHEADERS_TRUSTEDIPS=10.0.0.2, 10.0.0.3"},
			want:    []string{`entryPoints.Web.forwardedHeaders.trustedIPs = ["10.0.0.2","10.0.0.3"]`},
		},
		{
			name:    "a list given by several flags",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_FORWARDEDHEADERS_TRUSTEDIPS=10.0.0.2"},
			args: []string{
				"--entryPoints.web.forwardedHeaders.trustedIPs=10.0.0.4",
				"--entrypoints.web.forwardedheaders.trustedips=10.0.0.5",
			},
			want: []string{`entryPoints.Web.forwardedHeaders.trustedIPs = ["10.0.0.4","10.0.0.5"]`},
		},
		{
			name:    "an empty list",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_FORWARDEDHEADERS_TRUSTEDIPS="},
			want:    []string{`entryPoints.Web.forwardedHeaders.trustedIPs = []`},
		},
	} {
		t.Run(test.name, test.run)
	}
}

// TestSectionsAndIndices proves how sections are switched and how elements of lists are reached from the environment
// and from flags.
func TestSectionsAndIndices(t *testing.T) {
	for _, test := range []precedence{
		{
			name: "a section and a bool alone",
			args: []string{"--api", "--entryPoints.web.reusePort", "--api.insecure", "--log.level", "error"},
			want: []string{`api`, `api.insecure = true`, `entryPoints.Web.reusePort = true`, `log.level = "ERROR"`},
		},
		{
			name: "a section is switched off",
			args: []string{"--ping=false"},
			want: []string{`!ping`, `!entryPoints.traefik.address`},
		},
		{
			name:    "a section that was switched off is switched on again below",
			environ: []string{"SLUICE_PING=false"},
			args:    []string{"--ping.terminatingStatusCode=500"},
			want:    []string{`ping.terminatingStatusCode = 500`},
		},
		{
			name: "an index",
			args: []string{"--entryPoints.web.http.tls.domains[0].main=a", "--entryPoints.web.http.tls.domains[0].sans=b,c"},
			want: []string{`entryPoints.Web.http.tls.domains = [{"main":"a","sans":["b","c"]}]`},
		},
		{
			name: "an index in the environment",
			environ: []string{
				"SLUICE_ENTRYPOINTS_WEB_HTTP_TLS_DOMAINS_0_MAIN=a",
				"SLUICE_ENTRYPOINTS_WEB_HTTP_TLS_DOMAINS[1]_MAIN=b",
			},
			want: []string{`entryPoints.Web.http.tls.domains = [{"main":"a","sans":null},{"main":"b","sans":null}]`},
		},
		{
			name: "a negative number behind a blank",
			args: []string{"--serversTransport.maxIdleConnsPerHost", "-1"},
			want: []string{`serversTransport.maxIdleConnsPerHost = -1`},
		},
	} {
		t.Run(test.name, test.run)
	}
}

func (test precedence) run(t *testing.T) {
	loaded, findings := load(t, precedenceFile, test.environ, test.args)
	if HasErrors(findings) {
		t.Fatalf("findings: %v", findings)
	}
	got := differences(t, loaded.Configuration)
	for _, want := range test.want {
		absent, no := strings.CutPrefix(want, "!")
		found := slices.ContainsFunc(got, func(line string) bool {
			return line == want || no && strings.HasPrefix(line, absent)
		})
		if found == no {
			t.Errorf("%s: not as wanted in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestMessages proves what a user reads about variables and flags that mean nothing or are wrong.
func TestMessages(t *testing.T) {
	tests := []struct {
		name    string
		environ []string
		args    []string
		want    []string
	}{
		{
			name:    "unknown variable",
			environ: []string{"SLUICE_ENTRYPOINTS_WEB_ADDRESSS=:80", "SLUICE_WHATEVER=1"},
			want: []string{
				"warning: environment SLUICE_ENTRYPOINTS_WEB_ADDRESSS: is not an option and is ignored; did you mean " +
					"SLUICE_ENTRYPOINTS_WEB_ADDRESS?",
				"warning: environment SLUICE_WHATEVER: is not an option and is ignored",
			},
		},
		{
			name: "variables of Traefik",
			environ: []string{
				"SLUICE_LOG_LEVEL=WARN", "TRAEFIK_LOG_LEVEL=loud", "TRAEFIK_ZONE=secret", "TRAEFIK_LOG_LEVL=DEBUG",
				"TRAEFIK_SERVICE_HOST=10.0.0.1", "TRAEFIK_PORT_80_TCP=tcp://10.0.0.1:80", "TRAEFIK=1",
			},
			want: []string{
				"info: environment TRAEFIK_*: read in addition to SLUICE_*, which override them option by option: " +
					"TRAEFIK_LOG_LEVEL, TRAEFIK_ZONE",
				"warning: environment TRAEFIK_LOG_LEVL: is not an option and is ignored; did you mean TRAEFIK_LOG_LEVEL?",
			},
		},
		{
			name: "flags at another place, and misspelt ones",
			args: []string{
				"--confgFile=x", "--entryPoints.web.address=:80", "--entryPoints.web.tls.options=x", "--level=DEBUG",
				"--http.routers.a.rule=x", "--insecure",
			},
			want: []string{
				"error: flag --confgFile: is unknown; did you mean --configFile?",
				"error: flag --entryPoints.web.tls.options: is unknown; did you mean --entryPoints.web.http.tls?",
				"error: flag --http.routers.a.rule: belongs to the dynamic configuration: write it as http at the root of a " +
					"file that providers.file.filename names, which may be the configuration file itself",
				"error: flag --insecure: is unknown",
				"error: flag --level: is unknown; did you mean --log.level?",
			},
		},
		{
			name: "variables of a Service in Kubernetes",
			environ: []string{
				"SLUICE_SERVICE_HOST=10.0.0.1", "SLUICE_SERVICE_PORT=80", "SLUICE_SERVICE_PORT_WEB=80",
				"SLUICE_PORT=tcp://10.0.0.1:80",
				"SLUICE_PORT_80_TCP=tcp://10.0.0.1:80", "SLUICE_PORT_80_TCP_PROTO=tcp", "SLUICE_PORT_80_TCP_PORT=80",
				"SLUICE_PORT_80_TCP_ADDR=10.0.0.1", "SLUICE_PORT_443_UDP=udp://10.0.0.1:443",
				"SLUICE_DASHBOARD_SERVICE_HOST=10.0.0.2",
			},
		},
		{
			name: "a value that does not convert",
			environ: []string{
				"SLUICE_ENTRYPOINTS_WEB_ADDRESS=:80",
				"SLUICE_ENTRYPOINTS_WEB_TRANSPORT_RESPONDINGTIMEOUTS_READTIMEOUT=soon",
			},
			want: []string{
				"error: environment SLUICE_ENTRYPOINTS_WEB_TRANSPORT_RESPONDINGTIMEOUTS_READTIMEOUT: option " +
					"entryPoints.web.transport.respondingTimeouts.readTimeout: " +
					`expected a duration such as "10s" or whole seconds, not negative, got "soon"`,
			},
		},
		{
			name: "an address in place of an entrypoint, and an entrypoint that is switched off",
			args: []string{"--entryPoints.web=:80", "--entryPoints.other=false"},
			want: []string{`error: flag --entryPoints.web: option entryPoints.web: expected a map, true or false, got ":80"`},
		},
		{
			name: "unknown flags",
			args: []string{"--entryPoints.web.addresss=:80", "--nothing.like.it", "--pilot.token=x", "stray", "--log.level"},
			want: []string{
				"error: flag stray: expected a flag such as --name=value",
				"error: flag --log.level: needs a value",
				"error: flag --entryPoints.web.addresss: is unknown; did you mean --entryPoints.web.address?",
				"error: flag --nothing.like.it: is unknown",
				"error: flag --pilot.token: was removed in Traefik v3 and has no successor",
			},
		},
		{
			name: "no name, no index, no section",
			args: []string{
				"--certificatesResolvers=true", "--entryPoints.a.http.tls.domains=true", "--global",
				"--providers.file=maybe",
			},
			want: []string{
				"error: flag --certificatesResolvers: option certificatesResolvers: expected a map, got a single value",
				"error: flag --entryPoints.a.http.tls.domains: option entryPoints.a.address: is missing, expected " +
					"[host]:port[/tcp|/udp]",
				"error: flag --entryPoints.a.http.tls.domains: option entryPoints.a.http.tls.domains: expected a list, got a " +
					"single value",
				`error: flag --global: option global: expected a map, got a single value`,
				`error: flag --providers.file: option providers.file: expected a map, true or false, got "maybe"`,
			},
		},
		{
			name: "a gap in a list",
			args: []string{"--entryPoints.a.address=:80", "--entryPoints.a.http.tls.domains[1].main=a"},
			want: []string{
				"error: flag --entryPoints.a.http.tls.domains[1].main: option entryPoints.a.http.tls.domains[0]: has no value",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, findings := load(t, "", test.environ, test.args)
			var got []string
			for _, finding := range findings {
				got = append(got, finding.Severity.String()+": "+finding.String())
			}
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindFile(t *testing.T) {
	home, xdg, work := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(work)
	environ := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + xdg}
	write := func(path string) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("log:\n  format: json\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	expect := func(want string, sources Sources) {
		t.Helper()
		loaded, findings := Load(sources)
		if loaded.File != want || HasErrors(findings) {
			t.Errorf("read %q, want %q; findings %v", loaded.File, want, findings)
		}
		if want != "" && loaded.Configuration.Log.Format != "json" {
			t.Errorf("%q was not read", want)
		}
	}
	expect("", Sources{Environ: environ})
	write("traefik.yml")
	expect("traefik.yml", Sources{Environ: environ})
	write("sluice.yaml")
	expect("sluice.yaml", Sources{Environ: environ})
	expect(write(filepath.Join(home, ".config", "traefik.yaml")), Sources{Environ: environ})
	expect(write(filepath.Join(xdg, "traefik.yaml")), Sources{Environ: environ})
	traefik := write(filepath.Join(work, "variable-of-traefik.yaml"))
	environ = append(environ, "TRAEFIK_CONFIGFILE="+traefik)
	expect(traefik, Sources{Environ: environ})
	variable := write(filepath.Join(work, "variable.yaml"))
	named := write(filepath.Join(work, "named.yaml"))
	flagged := write(filepath.Join(work, "flagged.yaml"))
	environ = append(environ, "SLUICE_CONFIGFILE="+variable)
	expect(variable, Sources{Environ: environ})
	expect(named, Sources{Environ: environ, ConfigFile: named})
	expect(flagged, Sources{Environ: environ, ConfigFile: named, Args: []string{"--configfile", flagged}})
}

func TestFileThatCannotBeRead(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	_, findings := Load(Sources{Args: []string{"--configFile=" + missing}})
	want := []Finding{{Severity: Error, File: missing, Reason: "cannot be read: no such file or directory"}}
	if diff := cmp.Diff(want, findings); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// TestLocate proves that a mistake that is found after loading can be reported with its place.
func TestLocate(t *testing.T) {
	loaded, _ := load(t, "entryPoints:\n  a.b:\n    address: ':1'\n", []string{"SLUICE_LOG_FILEPATH=/x"}, nil)
	for _, test := range []struct {
		path []string
		want string
	}{
		{[]string{"entryPoints", "a.b", "address"}, loaded.File + ":3: option entryPoints.a.b.address: in use"},
		{[]string{"entryPoints", "a.b", "http", "tls"}, loaded.File + ":2: option entryPoints.a.b.http.tls: in use"},
		{[]string{"log", "filePath"}, "environment SLUICE_LOG_FILEPATH: option log.filePath: in use"},
		{[]string{"ping"}, "option ping: in use"},
	} {
		if got := loaded.Locate("in use", test.path...).String(); got != test.want {
			t.Errorf("%v: got %q, want %q", test.path, got, test.want)
		}
	}
}

// joined returns the findings of a severity in one line.
func joined(findings []Finding, severity Severity) string {
	var texts []string
	for _, finding := range findings {
		if finding.Severity == severity {
			texts = append(texts, finding.String())
		}
	}
	return strings.Join(texts, "; ")
}
