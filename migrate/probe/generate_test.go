package probe_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// location returns a location with annotations, as "KEY: VALUE".
func location(path string, annotations ...string) probe.Location {
	values := map[string]string{}
	for _, one := range annotations {
		key, value, _ := strings.Cut(one, ": ")
		values[annotation.Prefix+key] = value
	}
	options, _ := annotation.NewReader(annotation.DefaultSettings()).Read("default", values)
	out := probe.Location{Path: path, Ingress: "default/one", Options: options, Regex: options.Rewrite.UseRegex}
	if options.Canary.Enabled {
		out.Canary = &options.Canary
	}
	return out
}

func root() probe.Location {
	out := location("/")
	out.Implied = true
	return out
}

// has reports whether there is a probe "METHOD SCHEME://HOST/TARGET" for a reason.
func has(set probe.Set, text string, reason probe.Reason) bool {
	return slices.ContainsFunc(set.Probes, func(p probe.Probe) bool { return p.String() == text && p.Reason == reason })
}

func TestEdges(t *testing.T) {
	host := probe.Host{
		Name: "a.example", Aliases: []string{"b.example", `~^c\d$`}, Twin: "www.a.example", TLS: true,
		Locations: []probe.Location{location("/foo/bar"), root()},
	}
	set := probe.Generate(host, probe.DefaultPerHost)
	const base = "https://a.example"
	for text, reason := range map[string]probe.Reason{
		"GET " + base + "/foo/bar":              probe.Declared,
		"GET http://a.example/foo/bar":          probe.Plain,
		"GET " + base + "/foo/bar/":             probe.FinalSlash,
		"GET " + base + "/foo/barx":             probe.Longer,
		"GET " + base + "/foo/ba":               probe.Shorter,
		"GET " + base + "/foo/bar/segment":      probe.Segment,
		"GET " + base + "/FOO/BAR":              probe.Case,
		"GET " + base + "//foo/bar":             probe.DoubleSlash,
		"GET " + base + "/foo//bar":             probe.DoubleSlash,
		"GET " + base + "/foo%2Fbar":            probe.EncodedSlash,
		"GET " + base + "/%66oo/bar":            probe.EncodedLetter,
		"GET " + base + "/other/../foo/bar":     probe.DotSegment,
		"GET " + base + "/foo/bar/..":           probe.FinalDot,
		"GET " + base + "/foo/bar%00":           probe.Malformed,
		"GET " + base + "/undeclared-path":      probe.UnknownPath,
		"OPTIONS " + base + "/foo/bar":          probe.BareOptions,
		"POST " + base + "/foo/bar":             probe.BodyOverLimit,
		"GET https://a.example:8080/":           probe.HostPort,
		"GET https://A.EXAMPLE/":                probe.HostCase,
		"GET https://b.example/":                probe.Alias,
		"GET https://www.a.example/":            probe.Twin,
		"GET " + base + "/foo/bar?a=b&c=%2F":    probe.Query,
		"GET " + base + "/other/%2e%2E/foo/bar": probe.DotSegment,
		"GET " + base + "/foo/bar;a=b":          probe.MatrixSuffix,
		"GET " + base + "/foo/bar/../segment":   probe.DotSegment,
		"GET http://a.example/foo/bar?a=b/":     probe.Plain,
	} {
		if !has(set, text, reason) {
			t.Errorf("there is no probe %s: %s", text, reason)
		}
	}
	if set.Omitted > 0 {
		t.Errorf("%d probes are omitted", set.Omitted)
	}
}

func TestProbesDiffer(t *testing.T) {
	host := probe.Host{
		Name: "*.example", Locations: []probe.Location{location("/"), location("/a"), location("/a/"), root()},
	}
	seen := map[string]bool{}
	for _, one := range probe.Generate(host, probe.DefaultPerHost).Probes {
		if one.Reason == "" || one.Ingress == "" {
			t.Errorf("%s has no reason or Ingress", one)
		}
		one.Reason, one.Path = "", ""
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		if seen[string(text)] {
			t.Errorf("%s is there twice", one)
		}
		seen[string(text)] = true
	}
}

func TestAnnotations(t *testing.T) {
	for name, test := range map[string]struct {
		annotations []string
		reasons     []probe.Reason
	}{
		"CORS": {
			[]string{"enable-cors: true", "cors-allow-origin: https://*.b.example"},
			[]probe.Reason{probe.Preflight, probe.BadPreflight, probe.Origin, probe.BadOrigin},
		},
		"password": {
			[]string{"auth-type: basic", "auth-secret: users"},
			[]probe.Reason{probe.BadCredentials, probe.Preflight},
		},
		"external authentication": {
			[]string{"auth-url: http://auth.test/"}, []probe.Reason{probe.BadCredentials, probe.SomeCookie},
		},
		"addresses": {
			[]string{"allowlist-source-range: 10.0.0.0/8"}, []probe.Reason{probe.ListedClient, probe.OtherClient},
		},
		"bodies": {
			[]string{"proxy-body-size: 1k"}, []probe.Reason{probe.BodyAtLimit, probe.BodyOverLimit},
		},
		"canary": {
			[]string{"canary: true", "canary-by-header: X-C", "canary-by-header-value: yes", "canary-by-cookie: c"},
			[]probe.Reason{
				probe.CanaryAlways, probe.CanaryNever, probe.CanaryValue, probe.CanaryOther, probe.CookieAlways,
				probe.CookieNever,
			},
		},
	} {
		host := probe.Host{Name: "a.example", Locations: []probe.Location{location("/a", test.annotations...)}}
		set := probe.Generate(host, probe.DefaultPerHost)
		for _, reason := range test.reasons {
			if !slices.ContainsFunc(set.Probes, func(p probe.Probe) bool { return p.Reason == reason }) {
				t.Errorf("%s: there is no probe %s", name, reason)
			}
		}
	}
}

func TestNoHeaderThatCannotBeSent(t *testing.T) {
	at := location("/a", "canary: true", "canary-by-header: a b:c")
	host := probe.Host{Name: "a.example", Locations: []probe.Location{at}}
	for _, one := range probe.Generate(host, probe.DefaultPerHost).Probes {
		for name := range one.Header {
			if strings.ContainsAny(name, " :") {
				t.Errorf("%s has the header %q", one, name)
			}
		}
	}
}

func TestExpressionsAreMatched(t *testing.T) {
	for _, path := range []string{
		"/a(/|$)(.*)", "/v[0-9]+/x", "/(?i)b", `/c/\d{3}`, "/d|/e", "/f/.+/g", "/[^/]+/h", "/i?j", `/k\.l`,
	} {
		host := probe.Host{Name: "a.example", Regex: true, Locations: []probe.Location{location(path, "use-regex: true")}}
		set := probe.Generate(host, probe.DefaultPerHost)
		target := set.Probes[0].Target
		pattern, err := pcre.Compile("^"+path, pcre.Caseless)
		if err != nil {
			t.Fatal(err)
		}
		if !pattern.Match(target) {
			t.Errorf("%s does not match %s", path, target)
		}
	}
}

func TestLimit(t *testing.T) {
	host := probe.Host{Name: "a.example"}
	for _, path := range []string{"/a", "/b", "/c", "/d"} {
		host.Locations = append(host.Locations, location(path))
	}
	all := probe.Generate(host, 1000)
	set := probe.Generate(host, 12)
	if len(set.Probes) != 12 || set.Omitted != len(all.Probes)-12 {
		t.Errorf("%d probes and %d omitted of %d", len(set.Probes), set.Omitted, len(all.Probes))
	}
	for _, at := range host.Locations {
		if !has(set, "GET http://a.example"+at.Path, probe.Declared) {
			t.Errorf("%s has no probe", at.Path)
		}
	}
}

func TestHarmless(t *testing.T) {
	for _, test := range []struct {
		probe probe.Probe
		want  bool
	}{
		{probe.Probe{Method: http.MethodGet}, true},
		{probe.Probe{Method: http.MethodHead}, true},
		{probe.Probe{Method: http.MethodOptions}, true},
		{probe.Probe{Method: http.MethodPost}, false},
		{probe.Probe{Method: http.MethodGet, Length: 1}, false},
		{probe.Probe{Method: http.MethodGet, Client: "192.0.2.7"}, false},
	} {
		if got := test.probe.Harmless(); got != test.want {
			t.Errorf("%+v: %t", test.probe, got)
		}
	}
}

func FuzzGenerate(f *testing.F) {
	f.Add("/a(/|$)(.*)", "*.example", true)
	f.Add("/[", "_", false)
	f.Fuzz(func(t *testing.T, path, name string, regex bool) {
		host := probe.Host{Name: name, Regex: regex, Locations: []probe.Location{location(path, "use-regex: true")}}
		for _, one := range probe.Generate(host, 50).Probes {
			if !strings.HasPrefix(one.Target, "/") && strings.HasPrefix(path, "/") {
				t.Errorf("the target is %q", one.Target)
			}
			if strings.ContainsAny(one.Target, " \r\n") {
				t.Errorf("the target is %q", one.Target)
			}
		}
	})
}
