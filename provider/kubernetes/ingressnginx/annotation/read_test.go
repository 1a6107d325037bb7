package annotation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// read reads annotations without prefix, of an Ingress in namespace shop without a ConfigMap.
func read(t testing.TB, annotations map[string]string) (*annotation.Options, map[string]annotation.Finding) {
	t.Helper()
	return readWith(t, annotation.DefaultSettings(), annotations)
}

func readWith(
	t testing.TB, settings *annotation.Settings, annotations map[string]string,
) (*annotation.Options, map[string]annotation.Finding) {
	t.Helper()
	keys := map[string]string{"other.example.com/key": "left alone"}
	for name, value := range annotations {
		keys[annotation.Prefix+name] = value
	}
	options, list := annotation.NewReader(settings).Read("shop", keys)
	if len(list) != len(annotations) {
		t.Errorf("%d findings for %d annotations", len(list), len(annotations))
	}
	findings := map[string]annotation.Finding{}
	for _, finding := range list {
		findings[strings.TrimPrefix(finding.Key, annotation.Prefix)] = finding
	}
	return options, findings
}

// outcome is what becomes of an Ingress as a whole.
func outcome(options *annotation.Options) string {
	switch {
	case options.Rejected != "":
		return "rejected"
	case options.Denied != "":
		return "denied"
	case options.Closed != "":
		return "closed"
	}
	return ""
}

// reads is a row of the tables of tests: annotations, the outcome, the verdicts that are not Honoured, and a check of
// the options.
type reads struct {
	name        string
	annotations map[string]string
	outcome     string
	verdicts    map[string]annotation.Verdict
	got         func(*annotation.Options) any
	want        any
}

// closes returns the row for an annotation that Sluice alone denies.
func (r reads) closes() reads {
	r.outcome = "closed"
	return r
}

func run(t *testing.T, rows []reads) {
	t.Helper()
	runWith(t, annotation.DefaultSettings(), rows)
}

func runWith(t *testing.T, settings *annotation.Settings, rows []reads) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			options, findings := readWith(t, settings, row.annotations)
			if got := outcome(options); got != row.outcome {
				t.Errorf("outcome %q, want %q: %s%s", got, row.outcome, options.Rejected, options.Denied+options.Closed)
			}
			verdicts := map[string]annotation.Verdict{}
			for name, finding := range findings {
				if finding.Verdict != annotation.Honoured {
					verdicts[name] = finding.Verdict
				}
				if (finding.Reason == "") != (finding.Verdict == annotation.Honoured) {
					t.Errorf("%s: %s with the reason %q", name, finding.Verdict, finding.Reason)
				}
			}
			if row.verdicts == nil {
				row.verdicts = map[string]annotation.Verdict{}
			}
			if diff := cmp.Diff(row.verdicts, verdicts); diff != "" {
				t.Errorf("verdicts: %s\n%v", diff, findings)
			}
			if row.got == nil {
				return
			}
			if diff := cmp.Diff(row.want, row.got(options)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const (
	different   = annotation.Different
	unused      = annotation.Unused
	ignored     = annotation.Ignored
	unsupported = annotation.Unsupported
	denied      = annotation.Denied
	rejected    = annotation.Rejected
)

type verdicts = map[string]annotation.Verdict

// one returns a single annotation.
func one(name, value string) map[string]string { return map[string]string{name: value} }

// TestEveryAnnotationIsRead demands that each annotation is read by its topic, which judges it.
func TestEveryAnnotationIsRead(t *testing.T) {
	for _, spec := range annotation.All() {
		for _, name := range append([]string{spec.Name}, spec.Aliases...) {
			options, findings := read(t, one(name, "1"))
			finding := findings[name]
			if strings.Contains(finding.Reason, "together with the other") {
				t.Errorf("%s: %s", name, finding.Reason)
			}
			if finding.Closes() != (outcome(options) != "" || options.Firewall.Enabled) {
				t.Errorf("%s: %+v, outcome %q", name, finding, outcome(options))
			}
			if finding.Protects != spec.Protects && !finding.Closes() {
				t.Errorf("%s: protects is %t", name, finding.Protects)
			}
		}
	}
}

// TestUnknownAnnotations demands that a name that is no annotation says why it has no effect.
func TestUnknownAnnotations(t *testing.T) {
	for name, want := range map[string]string{
		"rewrite-taget":                       "did you mean nginx.ingress.kubernetes.io/rewrite-target?",
		"whitelist-souce-range":               "did you mean nginx.ingress.kubernetes.io/whitelist-source-range?",
		"secure-backends":                     "use backend-protocol: HTTPS",
		"use-gzip":                            "a key of the ConfigMap",
		"frobnicate-the-bar-quite-thoroughly": "unknown annotation",
		"":                                    "unknown annotation",
	} {
		options, findings := read(t, one(name, "x"))
		verdict := ignored
		if name == "secure-backends" { // An old name, which leads to no mistake.
			verdict = unused
		}
		if finding := findings[name]; finding.Verdict != verdict || !strings.Contains(finding.Reason, want) {
			t.Errorf("%s: %+v, want %q", name, finding, want)
		}
		if outcome(options) != "" {
			t.Errorf("%s: %s", name, outcome(options))
		}
	}
}

// TestAliases demands that the first of two names wins unless it is empty.
func TestAliases(t *testing.T) {
	allow := func(options *annotation.Options) any { return options.Access.Allow }
	run(t, []reads{
		{
			name: "alias", annotations: one("whitelist-source-range", "10.1.2.3/8, ::1"),
			got: allow, want: []string{"10.0.0.0/8", "::1"},
		},
		{
			name:        "both",
			annotations: map[string]string{"whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": "192.0.2.1"},
			verdicts:    verdicts{"whitelist-source-range": unused}, got: allow, want: []string{"192.0.2.1"},
		},
		{
			name:        "empty name",
			annotations: map[string]string{"whitelist-source-range": "10.0.0.0/8", "allowlist-source-range": ""},
			verdicts:    verdicts{"allowlist-source-range": unused}, got: allow, want: []string{"10.0.0.0/8"},
		},
		{
			name: "wrong alias", annotations: one("whitelist-source-range", "10.0.0.0/8,"), outcome: "denied",
			verdicts: verdicts{"whitelist-source-range": denied},
		},
		{
			name: "empty alias", annotations: one(
				"whitelist-source-range", "",
			), verdicts: verdicts{"whitelist-source-range": unused},
		},
		{
			name: "empty", annotations: one("allowlist-source-range", ""), outcome: "denied",
			verdicts: verdicts{"allowlist-source-range": denied},
		},
	})
}

// TestRisk demands that an annotation above the level of the ConfigMap is marked: what protects closes the locations,
// what opens something is left out, and anything else has its effect.
func TestRisk(t *testing.T) {
	settings := annotation.DefaultSettings()
	settings.Risk = annotation.Medium
	for name, test := range map[string]struct {
		value   string
		verdict annotation.Verdict
		denied  bool
	}{
		"auth-url":              {"http://auth/", denied, true},
		"auth-realm":            {"x", annotation.Unused, false},
		"configuration-snippet": {"more_set_headers 'a: b';", annotation.Unsupported, false},
		"server-alias":          {"b.example.com", annotation.Unsupported, false},
		"mirror-target":         {"http://copies/", annotation.Unsupported, false},
		"upstream-hash-by":      {"$request_uri", annotation.Different, false},
	} {
		options, findings := readWith(t, settings, one(name, test.value))
		found := findings[name]
		if found.Verdict != test.verdict || found.AboveRisk == (name == "auth-realm") ||
			(options.Denied != "") != test.denied {
			t.Errorf("%s: %v, denied: %q", name, found, options.Denied)
		}
		if len(options.Aliases) > 0 || options.Mirror != nil || name == "upstream-hash-by" && options.Backend.HashBy == "" {
			t.Errorf("%s: %v", name, options)
		}
	}
	_, findings := readWith(t, settings, map[string]string{"auth-url": "http://auth/"})
	if !findings["auth-url"].Closes() {
		t.Errorf("%v", findings)
	}
	_, findings = read(t, map[string]string{"auth-url": "http://auth/", "server-snippet": "x;"})
	if findings["auth-url"].AboveRisk || !findings["server-snippet"].AboveRisk {
		t.Errorf("without ConfigMap: %v", findings)
	}
}

// TestBlocklist demands that a forbidden word in any value has the Ingress rejected.
func TestBlocklist(t *testing.T) {
	settings := annotation.DefaultSettings()
	settings.Blocklist = []string{"load_module", "lua_package"}
	for _, name := range []string{"configuration-snippet", "app-root", "unheard-of-name"} {
		options, findings := readWith(t, settings, one(name, "/a load_module b"))
		if outcome(options) != "rejected" || findings[name].Verdict != rejected {
			t.Errorf("%s: %+v", name, findings)
		}
	}
}

// TestLongValues demands that a value of more than 16 KiB is not read, and that the locations are denied where it
// might protect something.
func TestLongValues(t *testing.T) {
	long := strings.Repeat("a", annotation.MostValue+1)
	for _, spec := range annotation.All() {
		options, findings := read(t, one(spec.Name, long))
		protects := spec.Protects || spec.Risk == annotation.Critical
		if got := outcome(options) == "closed"; got != protects || !strings.Contains(findings[spec.Name].Reason, "bytes") {
			t.Errorf("%s: denied is %t: %+v", spec.Name, got, findings[spec.Name])
		}
	}
	options, findings := read(t, one("never-heard-of-it", long))
	if outcome(options) != "" || findings["never-heard-of-it"].Verdict != ignored {
		t.Error(outcome(options), findings)
	}
}
