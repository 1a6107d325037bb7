package api

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// behindRouters shows what Sluice itself answers behind routers of a user.
const behindRouters = `
http:
  routers:
    api: {rule: "Host(` + "`sluice.test`" + `) && PathPrefix(` + "`/api`" +
	`)", service: api@internal, middlewares: [operators], entryPoints: [web]}
    dashboard: {rule: "Host(` + "`sluice.test`" + `) && PathPrefix(` + "`/dashboard`" +
	`)", service: dashboard@internal, middlewares: [operators], entryPoints: [web]}
    ping: {rule: "Host(` + "`ping.test`" + `)", service: ping@internal, entryPoints: [web]}
    metrics: {rule: "Host(` + "`metrics.test`" + `)", service: prometheus@internal, entryPoints: [web]}
  middlewares:
    operators: {basicAuth: {users: ["ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="]}}
`

// TestBehindRoutersOfUsers uses the internal services by name in routers with hosts.
func TestBehindRoutersOfUsers(t *testing.T) {
	t.Parallel()
	s := start(t, "requireAuth: true", map[string]string{"behind.yaml": behindRouters})
	ask := func(host, path string, login bool) harness.Response {
		client := harness.NewClient(t, harness.H1, s.Addr("web"), host, nil)
		request := client.Request(http.MethodGet, path, nil)
		if login {
			request.SetBasicAuth("ann", "password")
		}
		return client.Send(request)
	}
	for _, test := range []struct {
		host, path string
		login      bool
		status     int
		shows      string
	}{
		{"sluice.test", "/api/rawdata", true, 200, "ping@file"},
		{"sluice.test", "/api/rawdata", false, 401, ""},
		{"sluice.test", "/api/http/routers/api%40file", true, 200, `"using":["web"]`},
		{"sluice.test", "/dashboard/", true, 200, "<html"},
		{"sluice.test", "/dashboard/", false, 401, ""},
		{"sluice.test", "/debug/vars", true, 404, ""},
		{"ping.test", "/ping", false, 200, "OK"},
		{"ping.test", "/whatever/ready", false, 200, `"ready":true`},
		{"metrics.test", "/any", false, 200, "sluice_config_generation"},
		{"other.test", "/api/rawdata", true, 404, ""},
	} {
		if got := ask(test.host, test.path, test.login); got.StatusCode != test.status || !strings.Contains(got.Text,
			test.shows) {
			t.Errorf("%s%s is answered with %d: %.300s", test.host, test.path, got.StatusCode, got.Text)
		}
	}
	client := management(t, s)
	if got := client.Get("/api/rawdata"); got.StatusCode != http.StatusNotFound {
		t.Errorf("without api.insecure the entrypoint traefik answers %d", got.StatusCode)
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for entries := tar.NewReader(compressed); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(entries)
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name] = string(text)
	}
}

// TestBundle runs the command against a Sluice whose API is behind a router with credentials.
func TestBundle(t *testing.T) {
	t.Parallel()
	s := start(t, "requireAuth: true", map[string]string{"behind.yaml": behindRouters})
	dir := t.TempDir()
	base := "http://" + s.Addr("web")
	withUser := strings.Replace(base, "//", "//ann:password@", 1)
	result := harness.Run(t, dir, nil, "bundle", "--api", withUser, "-H", "Host: sluice.test", "--out", "one.tar.gz")
	if result.Code != 0 || result.Stderr != "" || !strings.HasPrefix(result.Stdout, "one.tar.gz: ") {
		t.Fatalf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	about, err := os.Stat(filepath.Join(dir, "one.tar.gz"))
	if err != nil || about.Mode().Perm() != 0o600 {
		t.Fatalf("the archive: %v %v", about, err)
	}
	archive, err := os.ReadFile(filepath.Join(dir, "one.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	expectFiles(t, unpack(t, archive))

	again := harness.Run(t, dir, nil, "bundle", "--api", withUser+"/api/", "-H", "Host: sluice.test", "--out=one.tar.gz")
	if kept, err := os.ReadFile(filepath.Join(dir, "one.tar.gz")); err != nil || !bytes.Equal(kept, archive) {
		t.Errorf("a second run overwrites the file: %v", err)
	}
	expectRefusal(t, again, "one.tar.gz exists already")
	out := harness.Run(t, dir, nil, "bundle", "--api", base, "-H", "Host: sluice.test", "-H",
		"Authorization: Basic YW5uOnBhc3N3b3Jk", "--out", "-")
	if out.Code != 0 {
		t.Fatalf("exit code %d: %s", out.Code, out.Stderr)
	}
	expectFiles(t, unpack(t, []byte(out.Stdout)))

	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>hello")
	}))
	t.Cleanup(page.Close)
	for want, api := range map[string]string{
		"401 Unauthorized":                    strings.Replace(base, "//", "//ann:wr0ngPassword@", 1),
		"connection refused":                  "http://user:wr0ngPassword@" + harness.RefusedAddress(t),
		"is this the API of a Sluice?":        page.URL,
		"the URL can't be read":               "http://user:wr0ngPassword@[::1",
		"404 Not Found":                       base + "/somewhere",
		"is not of the form http://HOST or h": "ftp://user:wr0ngPassword@sluice.test",
	} {
		expectRefusal(t, harness.Run(t, dir, nil, "bundle", "--api", api, "-H", "Host: sluice.test", "--out", "two.tar.gz"),
			want)
	}
	expectRefusal(t, harness.Run(t, dir, nil, "bundle", "--api", withUser, "-H", "Host: sluice.test", "--out",
		"missing/two.tar.gz"), "no such file or directory")
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("a command that fails leaves files behind: %v %v", files, err)
	}
}

// expectRefusal checks for one line with the reason, without secrets of the URL.
func expectRefusal(t *testing.T, result harness.Result, want string) {
	t.Helper()
	if result.Code != 1 || strings.Count(result.Stderr, "\n") != 1 || !strings.Contains(result.Stderr, want) ||
		strings.Contains(result.Stderr, "wr0ng") {
		t.Errorf("exit code %d, want a line with %q: %s%s", result.Code, want, result.Stdout, result.Stderr)
	}
}

// expectFiles checks for the required files.
func expectFiles(t *testing.T, files map[string]string) {
	t.Helper()
	holds := map[string]string{
		"version.json": "Version", "static-config.json": "requireAuth", "dynamic-config.json": "sluice.test",
		"runtime-config.json": "ping@file",
		"ready.json":          "providers", "verdicts.json": "[", "generations.json": "compileSeconds",
		"routes.json":      "api@file",
		"endpoints.json":   "[",
		"middlewares.json": "operators@file", "metrics.txt": "sluice_config_generation",
		"goroutines.txt": "goroutine profile", "runtime.json": "memory",
		"traffic.json": "entryPoints", "generations/1.json": "changes",
	}
	for name, text := range files {
		if strings.HasSuffix(name, ".json") && !json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON: %.200s", name, text)
		}
		if strings.Contains(text, "W6ph5Mm5") {
			t.Errorf("%s holds the password of a user", name)
		}
	}
	for name, want := range holds {
		// The files may be in a folder.
		if !slices.ContainsFunc(keys(files), func(known string) bool {
			return strings.HasSuffix("/"+known, "/"+name) && strings.Contains(files[known], want)
		}) {
			t.Errorf("there is no %s with %s among %q", name, want, keys(files))
		}
	}
}

func keys(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestBundleOfThisMachine finds the running Sluice by the static configuration that both read.
func TestBundleOfThisMachine(t *testing.T) {
	t.Parallel()
	address := harness.FreeAddress(t)
	s := harness.Start(t, harness.Setup{
		Static: strings.Replace(static, `traefik: {address: "127.0.0.1:0"}`, `traefik: {address: "`+address+`"}`, 1),
		Vars:   map[string]string{"API": "insecure: true, basePath: /below"},
	})
	config := "--configFile=" + filepath.Join(s.Dir, "sluice.yaml")
	result := harness.Run(t, t.TempDir(), nil, "bundle", config)
	if result.Code != 0 || !strings.HasPrefix(result.Stdout, "sluice-bundle-20") {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	for option, want := range map[string]string{
		config + " --api.insecure=false":        "name its address with --api",
		"--entryPoints.web.address=127.0.0.1:0": "the API is not enabled",
	} {
		result := harness.Run(t, t.TempDir(), nil, append([]string{"bundle"}, strings.Fields(option)...)...)
		if result.Code != 2 || strings.Count(result.Stderr, "\n") != 1 || !strings.Contains(result.Stderr, want) {
			t.Errorf("exit code %d, want 2 and a line with %q: %s%s", result.Code, want, result.Stdout, result.Stderr)
		}
	}
	if result := harness.Run(t, t.TempDir(), nil, "bundle", "--apj", "x"); result.Code != 2 {
		t.Errorf("a misspelt flag: exit code %d: %s", result.Code, result.Stderr)
	}
}
