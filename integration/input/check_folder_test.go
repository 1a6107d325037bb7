package input

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// The files of the cases: a dynamic configuration, manifests, and a static configuration with an engine that does not
// exist.
const (
	folderDynamic = "http:\n  routers: {r: {rule: Host(`x.test`), service: s}}\n" +
		"  services: {s: {loadBalancer: {servers: [{url: http://127.0.0.1:1}]}}}\n"
	folderManifests = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: a}\nspec:\n  rules:\n" +
		"    - host: a.test\n      http: {paths: [{path: /, pathType: Prefix, " +
		"backend: {service: {name: web, port: {number: 80}}}}]}\n---\n" +
		"apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
	folderStatic = "providers:\n  docker: {endpoint: tcp://127.0.0.1:9}\n  file: {directory: dynamic}\n"
)

// Files that are given are all that is read: not what is in the usual places or the environment, and no engine.
func TestCheckReadsNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"sluice.yaml": folderStatic, "manifests.yaml": folderManifests, "dynamic/a.yaml": folderDynamic,
		"mixed/a.yaml": folderDynamic, "mixed/b.yaml": folderManifests,
		"broken.yaml":       strings.Replace(folderManifests, "port: 80}]", `port: "80"}]`, 1),
		"json/r.json":       `{"http":{"routers":{"r":{"rule":"Host(","service":"s"}}}}`,
		"map/..1/static":    "",
		"map/..1/other.yml": folderStatic,
		"map/rules.YAML":    folderDynamic,
		"empty/notes.txt":   "nothing",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"manifests.yaml", 0, "manifests.yaml: the configuration is valid: 1 router, 1 service, "},
		{"dynamic/a.yaml", 0, "dynamic/a.yaml: the configuration is valid: 1 router, 1 service, "},
		{"sluice.yaml manifests.yaml", 0, "provider docker: not read\nsluice.yaml, manifests.yaml: the configuration is valid: 2 "},
		{"--offline sluice.yaml mixed/a.yaml", 0, "the configuration is valid: 1 router, "},
		{"dynamic/a.yaml manifests.yaml mixed/b.yaml", 0, "the configuration is valid: 2 routers, "},
		{"mixed", 0, "mixed: the configuration is valid: 2 routers, 2 services, "},
		{"map", 0, "map: the configuration is valid: 1 router, "},
		{"empty", 2, "empty: there is no file in it with one of the extensions"},
		{"json", 1, "json/r.json: is not read: in a folder, the file provider reads .yaml, .yml and .toml"},
		{"broken.yaml", 1, "broken.yaml:9: Service web: spec.ports.port: a string is not allowed here"},
		{"broken.yaml", 1, "; disables router default-a-a-test@kubernetes"},
	} {
		result := harness.Run(t, dir, []string{"SLUICE_PROVIDERS_DOCKER=true"}, append([]string{"check"},
			strings.Fields(test.args)...)...)
		if result.Code != test.code || !strings.Contains(result.Stdout+result.Stderr, test.want) {
			t.Errorf("check %s: exit code %d, want %d with %q: %s%s", test.args, result.Code, test.code, test.want,
				result.Stdout, result.Stderr)
		}
	}
}

func TestCheckOfTOMLFromStandardInput(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), harness.Binary(t), "check", "-")
	command.Stdin = strings.NewReader("[http.middlewares.m.compress]\nminResponseBodyByte = 1\n")
	output, err := command.Output()
	if err == nil || !strings.HasPrefix(string(output), "stdin:2: middleware m@file: compress.minResponseBodyByte: ") {
		t.Errorf("%v: %s", err, output)
	}
}

// What cannot be written is no success.
func TestCheckOnAFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full: ", err)
	}
	defer func() { _ = full.Close() }()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(folderDynamic), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), harness.Binary(t), "check", "--json", dir)
	command.Stdout = full
	if err := command.Run(); err == nil || command.ProcessState.ExitCode() != 2 {
		t.Errorf("%v, want exit code 2", err)
	}
}

// A running Sluice that is not ready is not valid, although it has no verdict.
func TestCheckOfARunningSluiceWithoutItsEngine(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Setup{Static: asking + "  docker: {endpoint: tcp://127.0.0.1:9}\n", NotReady: true})
	s.Until("the first table", func(r harness.Readiness) bool { return r.Generation > 0 })
	result := harness.Run(t, t.TempDir(), nil, "check", "--api", s.Addr("traefik"))
	if result.Code != 1 || !strings.Contains(result.Stdout, "provider docker: ") {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
}
