package file

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/providertest"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "a.yaml"), router("a", "1"))
		write(t, filepath.Join(dir, "b.toml"), "[http.routers.b]\nrule = \"1\"\n[http.routers.c]\nrule = \"1\"\n")
		p, err := New(static.FileProvider{Directory: dir, Watch: true}, telemetry.Discard{}, WithSettle(20*time.Millisecond))
		must(t, err)
		return providertest.Subject{
			Provider: p,
			Change: func(t *testing.T) {
				t.Helper()
				replace(t, filepath.Join(dir, "b.toml"), "[http.routers.b]\nrule = \"2\"\n[http.routers.c]\nrule = \"1\"\n")
			},
			Break: func(t *testing.T) {
				t.Helper()
				replace(t, filepath.Join(dir, "a.yaml"), "http: {routers: {a: ")
			},
		}
	})
}

func TestOneOfFilenameAndDirectory(t *testing.T) {
	for _, config := range []static.FileProvider{{}, {Filename: "a.yaml", Directory: "."}} {
		if _, err := New(config, telemetry.Discard{}); err == nil {
			t.Errorf("New(%+v) returned no error", config)
		}
	}
}

func TestFirstState(t *testing.T) {
	h := inDirectory(t,
		"a.yaml", router("a", "1"),
		"deep/er/b.toml", "[http.routers.b]\nrule = \"2\"\n",
		"c.YML", router("c", "3"),
		"empty.yaml", "",
		"notes.txt", "not a configuration",
		"..data/hidden.yaml", router("hidden", "9"),
		".#a.yaml", "a lock",
	)
	m := h.next()
	if rules(m) != "a=1 b=2 c=3" || m.State != dynamic.StateSynced || m.Reason != "" || len(verdicts(m)) > 0 {
		t.Errorf("rules %s, state %v %q, verdicts %v", rules(m), m.State, m.Reason, verdicts(m))
	}
	origin := m.Configuration.Origins.Get(dynamic.Ref{Kind: dynamic.KindRouter, Name: "b"})
	if want := (dynamic.Origin{File: h.path("deep/er/b.toml"), Line: 1}); origin != want {
		t.Errorf("origin %v, want %v", origin, want)
	}
}

func TestABadFileCostsNothingButItsNews(t *testing.T) {
	h := inDirectory(t, "a.yaml", router("a", "1"), "b.yaml", router("b", "1"))
	good := h.untilRules("a=1 b=1")

	write(t, h.path("a.yaml"), "http:\n  routers:\n    a: {rule: ")
	bad := h.untilVerdict("a.yaml:3: ")
	if rules(bad) != "a=1 b=1" || bad.Configuration.HTTP.Routers.Get("a") != good.Configuration.HTTP.Routers.Get("a") {
		t.Errorf("the last good state is not kept: %s", rules(bad))
	}
	if bad.State != dynamic.StateSynced || !strings.Contains(bad.Reason, "a.yaml:3") {
		t.Errorf("state %v %q", bad.State, bad.Reason)
	}
	if one := bad.Configuration.Verdicts[0]; one.Status != dynamic.Retained || one.Since.IsZero() {
		t.Errorf("verdict %+v, want one that says since when the last valid state is used", one)
	}

	write(t, h.path("b.yaml"), router("b", "2"))
	if m := h.untilRules("a=1 b=2"); len(verdicts(m)) != 1 {
		t.Errorf("verdicts %q, want the one on a.yaml", verdicts(m))
	}

	write(t, h.path("a.yaml"), "http:\n  routers:\n    a: {rule: \"2\"}\n")
	if m := h.untilRules("a=2 b=2"); len(verdicts(m)) != 0 || m.Reason != "" {
		t.Errorf("verdicts %q, reason %q after the repair", verdicts(m), m.Reason)
	}
}

func TestAFileThatComesBackUnchanged(t *testing.T) {
	h := inDirectory(t, "a.yaml", router("a", "1"))
	good := h.untilRules("a=1")
	write(t, h.path("a.yaml"), "{")
	h.untilVerdict("a.yaml:1")
	write(t, h.path("a.yaml"), router("a", "1"))
	m := h.until("no verdict", func(m dynamic.Message) bool { return len(verdicts(m)) == 0 })
	if m.Configuration.HTTP.Routers.Get("a") != good.Configuration.HTTP.Routers.Get("a") {
		t.Error("the router has another pointer")
	}
}

func TestStartWithNothingReadable(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "bad.yaml"), "a: [")
	must(t, os.Symlink("loop.yaml", filepath.Join(dir, "loop.yaml")))
	write(t, filepath.Join(dir, "plain"), "")
	tests := []struct {
		name   string
		config static.FileProvider
		part   string
	}{
		{"missing file", static.FileProvider{Filename: filepath.Join(dir, "no.yaml")}, "no.yaml: "},
		{"missing directory", static.FileProvider{Directory: filepath.Join(dir, "no")}, "no such file"},
		{"directory that is a file", static.FileProvider{Directory: filepath.Join(dir, "plain")}, "not a directory"},
		{"file that is a directory", static.FileProvider{Filename: dir}, "name it with providers.file.directory"},
		{"bad file", static.FileProvider{Filename: filepath.Join(dir, "bad.yaml")}, "bad.yaml:1: "},
		{
			"circular link",
			static.FileProvider{Filename: filepath.Join(dir, "loop.yaml")},
			"too many levels of symbolic links",
		},
		{"unknown extension", static.FileProvider{Filename: filepath.Join(dir, "plain")}, `has the extension ""`},
		{"directory with bad files only", static.FileProvider{Directory: dir}, "bad.yaml:1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := run(t, dir, test.config).next()
			if m.Configuration == nil || m.State != dynamic.StateForbidden || m.Reason == "" {
				t.Errorf("configuration %v, state %v %q", m.Configuration, m.State, m.Reason)
			}
			if all := strings.Join(verdicts(m), "\n"); !strings.Contains(all, test.part) {
				t.Errorf("verdicts %s, want one with %q", all, test.part)
			}
		})
	}
}

func TestLargeFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "large.yaml")
	write(t, path, router("a", "1")+"# "+strings.Repeat("x", 2000))
	m := run(t, dir, static.FileProvider{Filename: path}, WithMaxFileSize(1000)).next()
	if all := strings.Join(verdicts(m), "\n"); !strings.Contains(all, "bytes, more than the 1000 that are read") {
		t.Errorf("verdicts %s", all)
	}
	m = run(t, dir, static.FileProvider{Filename: path}, WithMaxFileSize(3000)).next()
	if rules(m) != "a=1" {
		t.Errorf("rules %s", rules(m))
	}
}

// TestTenMegabytes proves that a file of ten megabytes is read, and that one changed router leaves the others alone.
func TestTenMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("not with -short: reads ten megabytes")
	}
	var text strings.Builder
	text.WriteString("[http.routers]\n")
	count := 0
	for ; text.Len() < 10<<20; count++ {
		fmt.Fprintf(&text, "r%d = { rule = \"Host(`h%d.example`)\", service = \"s\", priority = %d, middlewares = [%s] }\n",
			count, count, count, strings.TrimSuffix(strings.Repeat(`"middleware-with-a-long-name", `, 20), ", "))
	}
	h := inDirectory(t, "large.toml", text.String(), "small.yaml", router("a", "1"))
	first := h.next()
	if got := first.Configuration.HTTP.Routers.Len(); got != count+1 {
		t.Fatalf("%d routers, want %d; verdicts %v", got, count+1, verdicts(first))
	}
	write(t, h.path("small.yaml"), router("a", "2"))
	second := h.next()
	if second.Configuration.HTTP.Routers.Get("a").Rule != "2" {
		t.Error("the small file has not changed")
	}
	for name, one := range first.Configuration.HTTP.Routers.All() {
		if name != "a" && second.Configuration.HTTP.Routers.Get(name) != one {
			t.Fatalf("router %s has another pointer", name)
		}
	}
}

func TestDuplicatesAcrossFiles(t *testing.T) {
	h := inDirectory(t,
		"1.yaml", "http:\n  routers:\n    a: {rule: first}\ntls:\n  certificates: [{certFile: x, keyFile: y}, {certFile: "+
			"'-----BEGIN 1'}]\n",
		"2.yaml", "http:\n  routers:\n    a: {ruel: second}\n    b: {rule: other}\n"+
			"tls:\n  certificates: [{certFile: x, keyFile: z}, {certFile: '-----BEGIN 2', nonsense: 1}]\n",
	)
	m := h.next()
	if rules(m) != "a=first b=other" {
		t.Errorf("rules %s", rules(m))
	}
	want := []string{
		h.path("2.yaml") + `:6: certificate certificates[2]: nonsense: unknown option`,
		h.path("2.yaml") + `:3: router "a" is declared already at ` + h.path("1.yaml") +
			`:3; this one is not used`,
		h.path("2.yaml") + `:6: certificate "x" is declared already at ` + h.path("1.yaml") +
			`:5; this one is not used`,
	}
	if diff := cmp.Diff(want, verdicts(m)); diff != "" {
		t.Errorf("verdicts differ (-want +got):\n%s", diff)
	}
	if len(m.Configuration.TLS.Certificates) != 3 {
		t.Errorf("%d certificates, want 3", len(m.Configuration.TLS.Certificates))
	}
	must(t, os.Remove(h.path("1.yaml")))
	h.until("the second file's router", func(m dynamic.Message) bool { return rules(m) == "a= b=other" })
}

// TestFurtherTLSOptionsKeepTheirEntryPoints keeps the second declaration quarantined, with the entrypoints that it
// names.
func TestFurtherTLSOptionsKeepTheirEntryPoints(t *testing.T) {
	h := inDirectory(t,
		"1.yaml", "tls:\n  options:\n    a: {}\n",
		"2.yaml", "tls:\n  options:\n    a: {entryPoints: inner, minVersoin: x}\n",
	)
	m := h.next()
	options := m.Configuration.TLS.Options
	if first, second := options.Get("a"), options.Get("a (2)"); options.Len() != 2 || first == nil || second == nil ||
		len(first.EntryPoints) > 0 || !slices.Equal(second.EntryPoints, []string{"inner"}) {
		t.Errorf("options %+v", options)
	}
	at := h.path("2.yaml") + ":3: tlsOptions a (2): "
	want := []string{
		at + `tlsOptions "a" is declared already at ` + h.path("1.yaml") + ":3; this one is not used",
		at + `minVersoin: unknown option, did you mean "minVersion"?`,
	}
	if diff := cmp.Diff(want, verdicts(m)); diff != "" {
		t.Errorf("verdicts differ (-want +got):\n%s", diff)
	}
}

func TestReloadSendsAgain(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write(t, path, router("a", "1"))
	h := run(t, dir, static.FileProvider{Filename: path}) // not watched
	first := h.next()
	h.provider.Reload()
	if again := h.next(); again.Configuration != first.Configuration {
		t.Error("nothing has changed, and the configuration is another one")
	}
	write(t, path, router("a", "2"))
	h.provider.Reload()
	if m := h.next(); rules(m) != "a=2" {
		t.Errorf("rules %s", rules(m))
	}
}

// TestReloadIsAnswered closes the channels of all calls that came before a scan once that has been sent.
func TestReloadIsAnswered(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.yaml")
	write(t, path, router("a", "1"))
	h := run(t, dir, static.FileProvider{Filename: path})
	h.next()
	for range 2 {
		first, second := h.provider.Reload(), h.provider.Reload()
		for _, answered := range []<-chan struct{}{first, second} {
			for open := true; open; {
				select {
				case <-answered:
					open = false
				case <-h.messages:
				}
			}
		}
	}
	write(t, path, router("a", "2"))
	answered := h.provider.Reload()
	h.untilRules("a=2")
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
		t.Error("what was read has been sent, and Reload is not answered")
	}
}

// TestWithoutWatchNothingIsSent proves that a change is seen by Reload only.
func TestWithoutWatchNothingIsSent(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), router("a", "1"))
	h := run(t, dir, static.FileProvider{Directory: dir})
	h.untilRules("a=1")
	write(t, h.path("a.yaml"), router("a", "2"))
	h.provider.Reload()
	if m := h.next(); rules(m) != "a=2" {
		t.Errorf("rules %s", rules(m))
	}
}

func TestFilesOfCertificates(t *testing.T) {
	certificates := t.TempDir()
	pem, key := filepath.Join(certificates, "c.pem"), filepath.Join(certificates, "c.key")
	write(t, pem, "certificate")
	write(t, key, "key")
	h := inDirectory(t, "a.yaml", fmt.Sprintf(`
http:
  routers: {a: {rule: "1"}}
  serversTransports:
    t: {rootCAs: [%[1]q]}
    plain: {serverName: x}
tcp:
  serversTransports:
    authorities: {tls: {rootCAs: [%[1]q]}}
    pair: {tls: {certificates: [{certFile: %[1]q, keyFile: %[2]q}]}}
    plain: {dialTimeout: 1s}
tls:
  certificates: [{certFile: %[1]q, keyFile: %[2]q}, {certFile: "-----BEGIN CERTIFICATE-----", keyFile: k}]
  options: {default: {clientAuth: {caFiles: [%[1]q]}}}
  stores: {default: {defaultCertificate: {certFile: %[1]q, keyFile: %[2]q}}}
`, pem, key))
	first := h.next()
	replace(t, key, "another key")
	second := h.next()
	one, two := providertest.Objects(first.Configuration), providertest.Objects(second.Configuration)
	var changed []string
	for ref, object := range one {
		if two[ref] != object {
			changed = append(changed, ref.String())
			if dynamic.Equal(two[ref], object) {
				t.Errorf("%v has another pointer and compares as equal", ref)
			}
		}
	}
	slices.Sort(changed)
	want := []string{fmt.Sprintf("certificate %q", pem), `tcpServersTransport "pair"`, `tlsStore "default"`}
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("changed objects differ (-want +got):\n%s", diff)
	}
	// Making a key readable does not change its content.
	must(t, os.Chmod(key, 0o640))
	if m := h.next(); m.Configuration.TLS.Certificates[0] == second.Configuration.TLS.Certificates[0] {
		t.Error("the certificate has not noticed that its key may be read by others now")
	}
	must(t, os.Remove(pem))
	third, ref := h.next(), dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: "default"}
	if third.Configuration.Object(ref) == second.Configuration.Object(ref) {
		t.Error("the options have not noticed that their file is gone")
	}
	ref = dynamic.Ref{Kind: dynamic.KindTCPServersTransport, Name: "authorities"}
	if third.Configuration.Object(ref) == second.Configuration.Object(ref) {
		t.Error("the TCP transport has not noticed that its file is gone")
	}
}
