package input

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/integration/harness"
)

// divided has two environment services, of which no router leads to orders.
const divided = `http:
  routers: {shop: {rule: "Host(` + "`shop.test`" + `)", service: shop, entryPoints: [web]}}
  services:
    shop:
      environment: {default: dev, subsets: [{tag: dev, service: one}, {tag: dev.a, service: two}]}
    orders:
      environment:
        {fallback: reject, exists: ready, subsets: [{tag: dev.a.b, service: one}, {tag: test, service: none}]}
    one: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}
    two: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}, {url: "http://127.0.0.1:2"}]}}
    none: {loadBalancer: {servers: []}}
`

// labelled is a VirtualEnvironment with a Service that has pods of two environments.
const labelled = `apiVersion: env.alibaba.com/v1alpha2
kind: VirtualEnvironment
metadata: {name: shop, namespace: shop}
spec: {envLabel: {defaultSubset: dev}}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: traefik.io/v1alpha1
kind: IngressRoute
metadata: {name: web, namespace: shop}
spec:
  entryPoints: [web]
  routes: [{kind: Rule, match: "Host(` + "`shop.test`" + `)", services: [{name: web, port: 80}]}]
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop, uid: u-a, labels: {app: web, virtual-env: dev}}
status: {podIP: 10.0.0.1, phase: Running}
---
apiVersion: v1
kind: Pod
metadata: {name: b, namespace: shop, uid: u-b, labels: {app: web, virtual-env: dev.a}}
status: {podIP: 10.0.0.2, phase: Running}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: shop, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: "", port: 8080}]
endpoints:
  - {addresses: [10.0.0.1], conditions: {ready: true}, targetRef: {kind: Pod, name: a, namespace: shop, uid: u-a}}
  - {addresses: [10.0.0.2], conditions: {ready: true}, targetRef: {kind: Pod, name: b, namespace: shop, uid: u-b}}
`

// environmentsCase is a call of sluice environments in a folder with divided.yaml, labelled.yaml and plain.yaml.
type environmentsCase struct {
	args   string
	env    string
	code   int
	stdout string
}

func environmentsCases() []environmentsCase {
	return []environmentsCase{
		{args: "divided.yaml", stdout: "SERVICE      dev  dev.a  dev.a.b  test\n" +
			"orders@file  -    -      dev.a.b  -\n" +
			"shop@file    dev  dev.a  dev.a    default\n"},
		{args: "divided.yaml", env: "COLUMNS=30", stdout: "orders@file\n  dev.a.b  dev.a.b\n" +
			"shop@file\n  dev      dev\n  dev.a    dev.a\n  dev.a.b  dev.a\n  test     default\n"},
		{args: "divided.yaml --wide", env: "COLUMNS=30", stdout: "SERVICE      dev  dev.a  dev.a.b  test\n" +
			"orders@file  -    -      dev.a.b  -\n" +
			"shop@file    dev  dev.a  dev.a    default\n"},
		{args: "--tag dev.a.x divided.yaml", stdout: "SERVICE      SUBSET  REASON    ENDPOINTS  ANSWERED BY  HEADER\n" +
			"orders@file  -       none      -          -            X-Virtual-Env\n" +
			"shop@file    dev.a   ancestor  2/2        two@file     X-Virtual-Env\n"},
		{args: "--tag= divided.yaml", stdout: "SERVICE      SUBSET  REASON   ENDPOINTS  ANSWERED BY  HEADER\n" +
			"orders@file  -       none     -          -            X-Virtual-Env\n" +
			"shop@file    dev     default  1/1        one@file     X-Virtual-Env\n"},
		{args: "labelled.yaml", stdout: "SERVICE                                      dev  dev.a\n" +
			"shop-web-050afe4592933941521c@kubernetescrd  dev  dev.a\n"},
		{args: "plain.yaml", code: 1, stdout: "SERVICE\n"},
		{args: "absent.yaml", code: 2},
		{args: "divided.yaml --api localhost", code: 2},
		{args: "--providers.file.filename=divided.yaml --tag dev.a.b --json", stdout: "{"},
	}
}

func TestEnvironmentsCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"divided.yaml": divided, "labelled.yaml": labelled,
		"plain.yaml": "http: {services: {one: {loadBalancer: {servers: [{url: \"http://127.0.0.1:1\"}]}}}}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range environmentsCases() {
		result := harness.Run(t, dir, []string{test.env}, append([]string{"environments"}, strings.Fields(test.args)...)...)
		got := result.Stdout
		if test.stdout == "{" {
			got = got[:min(1, len(got))]
		}
		if diff := cmp.Diff(test.stdout, got); diff != "" || result.Code != test.code {
			t.Errorf("environments %s %s: exit code %d, want %d: %s\n%s", test.args, test.env, result.Code, test.code,
				result.Stderr, diff)
		}
	}
}

// TestEnvironmentsOfARunningSluice wants the same from the API of a process as from its configuration.
func TestEnvironmentsOfARunningSluice(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Setup{Static: asking, Dynamic: map[string]string{"divided.yaml": divided}})
	own := "--providers.file.directory=" + s.DynamicDir
	for _, more := range [][]string{nil, {"--tag", "dev.a.b"}, {"--tag", "nothing", "--json"}, {"--json"}} {
		args := append([]string{"environments"}, more...)
		want := harness.Run(t, t.TempDir(), nil, append(args, own, "--entryPoints.web.address=:1")...)
		got := harness.Run(t, t.TempDir(), nil, append(args, "--api", s.Addr("traefik"))...)
		if diff := cmp.Diff(want.Stdout, got.Stdout); diff != "" || want.Code != 0 || got.Code != 0 || got.Stdout == "" {
			t.Errorf("%q: exit codes %d and %d: %s%s\n%s", more, want.Code, got.Code, want.Stderr, got.Stderr, diff)
		}
		if !strings.HasPrefix(got.Stderr, "configuration: the running Sluice at http://") {
			t.Errorf("%q: %s", more, got.Stderr)
		}
	}
	origin := harness.Run(t, t.TempDir(), nil, "environments", "--json", "--api", s.Addr("traefik"))
	var list struct{ Services []struct{ Origin string } }
	if err := json.Unmarshal([]byte(origin.Stdout), &list); err != nil || len(list.Services) != 2 ||
		list.Services[1].Origin != filepath.Join(s.DynamicDir, "divided.yaml")+":4" {
		t.Errorf("%v: %+v", err, list)
	}
}

func TestSignedTags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	content := []byte(strings.Repeat("k", environment.MinKey) + "\n")
	for name, text := range map[string][]byte{"tags.key": content, "short.key": []byte("short")} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key, err := environment.NewKey(content)
	if err != nil {
		t.Fatal(err)
	}
	for args, life := range map[string]time.Duration{
		"--tag dev.a --key-file tags.key":                                 24 * time.Hour,
		"--key-file=tags.key --tag=dev.a --ttl=8h --header=x-virtual-env": 8 * time.Hour,
	} {
		result := harness.Run(t, dir, nil, append([]string{"environments", "sign"}, strings.Fields(args)...)...)
		value := strings.TrimSuffix(result.Stdout, "\n")
		tag, err := key.Verify("X-Virtual-Env", value, time.Now().Add(life-time.Minute))
		if tag != "dev.a" || err != nil || result.Code != 0 || result.Stderr != "" {
			t.Errorf("%s: exit code %d, tag %q, %v: %s", args, result.Code, tag, err, result.Stderr)
		}
		if _, err := key.Verify("X-Virtual-Env", value, time.Now().Add(life+time.Minute)); err == nil {
			t.Errorf("%s: it does not expire", args)
		}
		if _, err := key.Verify("X-Other", value, time.Now()); err == nil {
			t.Errorf("%s: it is valid for another header", args)
		}
	}
	for args, want := range map[string]string{
		"--tag dev.a":                                  "name the file of the key with --key-file\n",
		"--key-file tags.key":                          "name the tag with --tag\n",
		"--key-file tags.key --tag dev.":               "the tag \"dev.\" is not the value of a Kubernetes label\n",
		"--key-file tags.key --tag dev --ttl 0s":       "--ttl 0s is less than a second\n",
		"--key-file tags.key --tag dev --header a:b":   "--header \"a:b\" is not the name of a header\n",
		"--key-file short.key --tag dev":               "short.key: has 5 bytes, and at least 32 are needed\n",
		"--key-file absent.key --tag dev":              "open absent.key: no such file or directory\n",
		"--key-file tags.key --tag dev --providers.x=": "unknown flag --providers.x=\n",
	} {
		result := harness.Run(t, dir, nil, append([]string{"environments", "sign"}, strings.Fields(args)...)...)
		if result.Code != 2 || result.Stdout != "" || result.Stderr != "sluice environments sign: "+want {
			t.Errorf("%s: exit code %d: %s%s", args, result.Code, result.Stdout, result.Stderr)
		}
	}
}
