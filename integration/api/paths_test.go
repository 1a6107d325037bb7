package api

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// sample has an object of each sort, well and not well.
const sample = `
http:
  routers:
    shop: {rule: "Host(` + "`shop.test`" + `)", service: shop, middlewares: [limit, prefix], entryPoints: [web]}
    a/b: {rule: "Host(` + "`slash.test`" + `)", service: split}
    "100%41 über alles": {rule: "Host(` + "`percent.test`" + `)", service: shop}
    half: {rule: "Host(` + "`half.test`" + `)", service: shop, entryPoints: [web, nowhere]}
    lost: {rule: "Host(` + "`lost.test`" + `)", service: nowhere, middlewares: [missing]}
    secure: {rule: "Host(` + "`secure.test`" + `)", service: shop, tls: {}, entryPoints: [websecure], priority: 77}
  middlewares:
    limit: {rateLimit: {average: 1000, burst: 1000}}
    prefix: {addPrefix: {prefix: /shop}}
    idle: {compress: {}}
  services:
    shop: {loadBalancer: {servers: [{url: "http://${A}"}, {url: "http://${BACKEND}"}],
      healthCheck: {path: /, interval: 50ms}, sticky: {cookie: {name: kept}}}}
    split: {weighted: {services: [{name: shop, weight: 3}]}}
    divided: {environment: {default: dev, fallback: any, service: split, subsets: [{tag: dev, service: shop}]}}
tcp:
  routers: {db: {rule: "HostSNI(` + "`db.test`" + `)", service: db, entryPoints: [websecure], tls: {passthrough: true}}}
  services: {db: {loadBalancer: {servers: [{address: "127.0.0.1:1"}]}}}
  middlewares: {few: {inFlightConn: {amount: 1}}}
udp:
  routers: {dns: {service: dns, entryPoints: [web]}}
  services: {dns: {loadBalancer: {servers: [{address: "127.0.0.1:1"}]}}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
`

// injecting is a webhook that needs no cluster.
const injecting = `injector:
  address: "127.0.0.1:0"
  statusAddress: "127.0.0.1:0"
  config: "${DYNAMIC}/inject.conf"
  tls: {certFile: "${CERT}", keyFile: "${KEY}"}
  events: false
  webhookConfiguration: ""
  drainTimeout: 0s
`

// sampled starts Sluice with the sample, sends requests, and waits until the API has all data.
func sampled(t *testing.T, options string) *harness.Sluice {
	t.Helper()
	issued := harness.NewAuthority(t).Issue("secure.test")
	s := harness.Start(t, harness.Setup{
		Static:  static + injecting,
		Dynamic: map[string]string{"sample.yaml": sample, "inject.conf": "policy: disabled\n"},
		Vars: map[string]string{
			"API": options, "BACKEND": harness.RefusedAddress(t), "A": harness.StartBackend(t, "a", nil).H1,
			"CERT": issued.CertFile, "KEY": issued.KeyFile,
		},
	})
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined >= 2 })
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "shop.test", nil)
	for range 5 {
		client.Get("/status?code=404")
	}
	return s
}

// escape escapes a name as one step of a path, and the @ too, as some clients do.
func escape(name string) string { return strings.ReplaceAll(url.PathEscape(name), "@", "%40") }

// TestEveryPath requests all paths of the document, and paths that do not exist.
func TestEveryPath(t *testing.T) {
	t.Parallel()
	s := sampled(t, "insecure: true, debug: true, liveRequests: true")
	client := management(t, s)
	doc := published(t, client, "")
	until(t, "a server is down", func() bool {
		return strings.Contains(client.Get("/api/http/services/shop@file").Text, `"DOWN"`)
	})
	rejects(t, s)
	until(t, "a response is rejected", func() bool {
		return strings.Contains(client.Get("/api/xds/clients?status=rejected").Text, `"no such policy"`)
	})
	for _, path := range []string{
		"/api/rawdata", "/api/overview", "/api/version", "/api/ready", "/api/routes", "/api/middlewares", "/api/traffic",
		"/api/support-dump",
		"/api/openapi.yaml", "/debug/vars", "/debug/pprof/", "/debug/pprof/heap",
		"/api/traffic/routers?name=shop@file&name=nobody@file",
		"/api/traffic/unmatched?search=nothing", "/api/traffic/services", "/api/explain?url=http://shop.test/x%3Fy&method=POST&client=192.0.2.7&header=X-A:%20b",
		"/api/explain?url=http://nobody.test/",
		"/api/explain/tcp?address=:1&entrypoint=websecure&sni=db.test&alpn=h2&client=192.0.2.7",
		"/api/xds/clients", "/api/xds/resources", "/api/xds/resources?node=tester",
		"/api/xds/resources?type=cds&search=shop",
		"/api/injector", "/api/environments?tag=dev.a&tag=", "/api/resolvers", "/api/connections?client=127.0.0.1",
	} {
		doc.get(t, client, path, http.StatusOK)
	}
	for _, path := range []string{
		"/api/explain", "/api/explain?url=ftp://x",
		"/api/explain?url=http://x.test/&entrypoint=nowhere", "/api/explain/tcp", "/api/explain/tcp?address=x",
		"/api/traffic/routers?name=%zz",
		"/api/traffic/unmatched?page=9", "/api/requests?status=teapot",
		"/api/connections?client=x", "/api/connections?page=0",
	} {
		doc.get(t, client, path, http.StatusBadRequest)
	}
	doc.get(t, client, "/api/xds/resources?node=nobody", http.StatusNotFound)
	doc.get(t, client, "/api/generations/x", http.StatusBadRequest)
	doc.get(t, client, "/api/traffic/routers?"+strings.Repeat("name=a&", 501), http.StatusBadRequest)
	for path, paged := range lists() {
		t.Run(path, func(t *testing.T) { doc.list(t, client.For(t), path, paged) })
	}
	doc.asked["/api/events"] = true // It has tests of its own.
	for path := range doc.Paths.Map() {
		if !doc.asked[path] && !strings.HasPrefix(path, "/api/admin/") { // TestAccess requests those.
			t.Errorf("%s is in the document, and not requested here", path)
		}
	}
}

// TestStateOfTheInjector reads the same state from the API and from statusAddress, and none without the option.
func TestStateOfTheInjector(t *testing.T) {
	t.Parallel()
	s := sampled(t, "insecure: true")
	client := management(t, s)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(s.WaitLog("listening", "protocol=status"))
	status := harness.NewClient(t, harness.H1, address, address, nil)
	until(t, "the configuration is read", func() bool { return status.Get("/ready").StatusCode == http.StatusOK })
	got := decode[object](t, client.Get("/api/injector"))
	if got["certificateNotAfter"] == nil || got["notReady"] != nil || got["reload"].(map[string]any)["at"] == nil {
		t.Errorf("the API shows %v", got)
	}
	if diff := cmp.Diff(got, decode[object](t, status.Get("/api/injector"))); diff != "" {
		t.Errorf("statusAddress says otherwise (-API +statusAddress):\n%s", diff)
	}
	overview := decode[struct{ Features object }](t, client.Get("/api/overview"))
	if overview.Features["injector"] != true {
		t.Errorf("the overview shows %v", overview.Features)
	}
	other := management(t, start(t, "insecure: true", nil))
	if got := other.Get("/api/injector"); got.StatusCode != http.StatusNotFound {
		t.Errorf("without the option: status %d: %s", got.StatusCode, got.Text)
	}
}

// lists returns the paths of lists, and whether they have pages.
func lists() map[string]bool {
	paths := map[string]bool{"/api/generations": false}
	for _, path := range []string{
		"/api/http/routers", "/api/http/services", "/api/http/middlewares", "/api/tcp/routers", "/api/tcp/services",
		"/api/tcp/middlewares",
		"/api/udp/routers", "/api/udp/services", "/api/entrypoints", "/api/listeners", "/api/certificates",
		"/api/verdicts", "/api/endpoints",
	} {
		paths[path] = true
	}
	return paths
}

// list requests a list, each object in it by name, a missing one, and missing pages.
func (d *document) list(t *testing.T, client *harness.Client, path string, paged bool) {
	all := decode[[]object](t, d.get(t, client, path, http.StatusOK))
	if len(all) == 0 && path != "/api/listeners" { // Clusters alone declare listeners.
		t.Errorf("%s is empty", path)
	}
	if d.Paths.Value(path+"/{id}") != nil {
		for _, one := range all {
			name := fmt.Sprint(one["name"])
			if one["name"] == nil {
				name = fmt.Sprint(one["generation"])
			}
			single := decode[object](t, d.get(t, client, path+"/"+escape(name), http.StatusOK))
			delete(single, "changes") // A generation shows more of them.
			delete(one, "changes")
			if diff := cmp.Diff(one, single); diff != "" && !strings.HasPrefix(path, "/api/generations") {
				t.Errorf("%s: the list says otherwise (-list +single)\n%s", name, diff)
			}
		}
		d.get(t, client, path+"/4711", http.StatusNotFound)
		d.get(t, client, path+"/"+strings.Repeat("9", 18), http.StatusNotFound)
	}
	if !paged {
		return
	}
	for _, query := range []string{
		"page=0", "page=-1", "page=x", "per_page=0", "per_page=1e3", "page=2&per_page=1000",
		"page=99999999999999999999", "search=%zz",
	} {
		d.get(t, client, path+"?"+query, http.StatusBadRequest)
	}
	if got := d.get(t, client, path+"?search=NothingLikeIt", http.StatusOK); !strings.HasPrefix(path,
		"/api/entrypoints") && strings.TrimSpace(got.Text) != "[]" {
		t.Errorf("%s: a search for nothing finds %s", path, got.Text)
	}
}

// TestObjectsAreShownAsTraefikDoes looks at what scripts read.
func TestObjectsAreShownAsTraefikDoes(t *testing.T) {
	t.Parallel()
	s := sampled(t, "insecure: true")
	client := management(t, s)
	until(t, "a server is down", func() bool {
		return strings.Contains(client.Get("/api/http/services/shop@file").Text, `"DOWN"`)
	})
	for path, want := range map[string]object{
		"/api/http/routers/shop@file": {
			"name": "shop@file", "provider": "file", "status": "enabled", "service": "shop", "rule": "Host(`shop.test`)",
			"entryPoints": []any{"web"}, "using": []any{"web"},
		},
		"/api/http/routers/a%2Fb@file": {
			"name": "a/b@file", "status": "enabled",
			"service": "split",
		},
		"/api/http/routers/a%2fb%40file": {"name": "a/b@file"},
		"/api/http/routers/half@file":    {"status": "warning", "using": []any{"web"}},
		"/api/http/routers/lost@file":    {"status": "disabled"},
		"/api/http/routers/secure@file": {
			"status": "enabled", "priority": 77.0,
			"priorityStr": "77", "using": []any{"websecure"},
		},
		"/api/http/services/split@file": {"type": "weighted", "usedBy": []any{"a/b@file"}},
		"/api/http/middlewares/limit@file": {
			"type": "ratelimit", "usedBy": []any{"shop@file"},
			"status": "enabled",
		},
		"/api/http/middlewares/idle@file": {"type": "compress", "status": "enabled"},
		"/api/tcp/routers/db@file": {
			"name": "db@file", "status": "enabled",
			"provider": "file", "service": "db", "using": []any{"websecure"},
		},
		"/api/udp/routers/dns@file": {"name": "dns@file", "status": "disabled"},
		"/api/udp/services/dns@file": {
			"name": "dns@file", "type": "loadbalancer",
			"status": "enabled",
		},
		"/api/entrypoints/web": {"name": "web", "address": "127.0.0.1:0"},
		"/api/http/routers/" + url.PathEscape("100%41 über alles@file"): {"name": "100%41 über alles@file"},
	} {
		got := decode[object](t, client.Get(path))
		for field, value := range want {
			if diff := cmp.Diff(value, got[field]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", path, field, diff)
			}
		}
	}
	servers := decode[struct{ ServerStatus map[string]string }](t,
		client.Get("/api/http/services/shop@file")).ServerStatus
	if got := slices.Sorted(maps.Values(servers)); !slices.Equal(got, []string{"DOWN", "UP"}) {
		t.Errorf("the states of the servers are %v", servers)
	}
	overview := decode[struct {
		HTTP      map[string]struct{ Total, Warnings, Errors int }
		Features  object
		Providers []string
		Overload  struct {
			Pressures map[string]float64
			Active    []string
		}
	}](t, client.Get("/api/overview"))
	if routers := overview.HTTP["routers"]; routers.Warnings != 1 || routers.Errors != 1 || routers.Total < 6 {
		t.Errorf("the overview counts %+v", overview)
	}
	if !slices.Equal(overview.Providers, []string{"File"}) || overview.Features["accessLog"] != true ||
		overview.Features["metrics"] != "Prometheus" {
		t.Errorf("the overview shows %+v", overview)
	}
	// The first sample comes later; a pressure of 0 is shown until then.
	pressure, ok := overview.Overload.Pressures["descriptors"]
	if !ok || pressure > 0.5 || overview.Overload.Active == nil ||
		len(overview.Overload.Active) > 0 {
		t.Errorf("the overview shows %+v", overview.Overload)
	}
	raw := decode[map[string]map[string]object](t, client.Get("/api/rawdata"))
	if raw["routers"]["a/b@file"]["rule"] != "Host(`slash.test`)" || raw["middlewares"]["prefix@file"] == nil ||
		raw["tcpRouters"]["db@file"] == nil {
		t.Errorf("rawdata shows %v", raw)
	}
}

// TestOtherMethods requests every path by HEAD, which has no body, and by methods that would change something.
func TestOtherMethods(t *testing.T) {
	t.Parallel()
	s := sampled(t, "insecure: true, debug: true, liveRequests: true")
	client := management(t, s)
	doc := published(t, client, "")
	for path := range doc.Paths.Map() {
		path = strings.ReplaceAll(path, "/debug/pprof/{id}", "/debug/pprof/goroutine")
		path = strings.ReplaceAll(path, "/api/generations/{id}", "/api/generations/1")
		head := client.Send(client.Request(http.MethodHead, strings.ReplaceAll(path, "{id}", "nobody"), nil))
		want := http.StatusOK
		switch {
		case strings.Contains(path, "{id}"), strings.HasPrefix(path, "/api/admin/"): // admin@internal alone has those.
			want = http.StatusNotFound
		case strings.HasSuffix(path, "/explain"), strings.HasSuffix(path, "/explain/tcp"):
			want = http.StatusBadRequest
		}
		if head.StatusCode != want || head.Text != "" {
			t.Errorf("HEAD %s: status %d, want %d: %q", path, head.StatusCode, want, head.Text)
		}
		for _, method := range []string{
			http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
			http.MethodOptions, "PURGE",
		} {
			got := client.Send(client.Request(method, strings.ReplaceAll(path, "{id}", "nobody"), strings.NewReader("{}")))
			if got.StatusCode != http.StatusMethodNotAllowed || got.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: status %d, Allow %q", method, path, got.StatusCode, got.Header.Get("Allow"))
			}
		}
	}
	if got := client.Send(client.Request(http.MethodPut, "/api/providers/rest",
		strings.NewReader("{}"))); got.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("the provider REST answers %d", got.StatusCode)
	}
	for _, path := range []string{
		"/api", "/api/", "/api/http", "/api/http/routers/", "/api/http/routers/a/b@file",
		"/api/nothing", "/api/http/nothing/x",
	} {
		if got := client.Get(path); got.StatusCode != http.StatusNotFound || decode[object](t, got)["message"] == nil {
			t.Errorf("%s: status %d: %s", path, got.StatusCode, got.Text)
		}
	}
}

// TestBasePath puts everything below a path, and nothing beside it.
func TestBasePath(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true, debug: true, basePath: /deep/sluice/", nil)
	client := management(t, s)
	doc := published(t, client, "/deep/sluice")
	for _, path := range []string{
		"/api/rawdata", "/api/http/routers", "/api/generations", "/api/support-dump",
		"/debug/vars", "/debug/pprof/",
	} {
		answer := client.Get("/deep/sluice" + path)
		if answer.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, answer.StatusCode)
		}
		doc.fits(t, "/deep/sluice", answer)
		if got := client.Get(path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s without the base path: status %d", path, got.StatusCode)
		}
	}
	if got := client.Get("/deep/sluice/dashboard/"); got.StatusCode != http.StatusOK ||
		!strings.Contains(got.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the dashboard: status %d, %v", got.StatusCode, got.Header)
	}
	if got := client.Get("/ready"); got.StatusCode != http.StatusOK {
		t.Errorf("/ready: status %d", got.StatusCode)
	}
}
