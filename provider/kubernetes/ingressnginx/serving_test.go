package ingressnginx

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
	"github.com/sluiceproxy/sluice/telemetry"
)

// placed is an Ingress with one path that leads to port 80 of a Service.
type placed struct {
	name, host, path, service string
	annotations               map[string]string
}

// object returns the Ingress.
func (p *placed) object() *networkingv1.Ingress {
	kind, class := networkingv1.PathTypeImplementationSpecific, "nginx"
	made := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: p.name, UID: "uid", Annotations: map[string]string{}},
	}
	for name, value := range p.annotations {
		made.Annotations[annotation.Prefix+name] = value
	}
	made.Spec.IngressClassName = &class
	backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: p.service, Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
	made.Spec.Rules = []networkingv1.IngressRule{{Host: p.host, IngressRuleValue: networkingv1.IngressRuleValue{
		HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{Path: p.path, PathType: &kind, Backend: backend}},
		},
	}}}
	return made
}

// received is a request as an endpoint got it.
type received struct {
	Endpoint, Method, URI, Host, Body string
	Header                            http.Header
}

// farm has the endpoints of Services.
type farm struct {
	t *testing.T
	// urls are those of the endpoints by Service.
	urls map[string][]string
}

// add starts an endpoint of a Service. It answers with the request, after the handler has set a status or headers; a
// nil handler sets none.
func (f *farm) add(service string, handler func(w http.ResponseWriter, r *http.Request)) string {
	name := fmt.Sprint(service, len(f.urls[service]))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Endpoint", name)
		if handler != nil {
			handler(w, r)
		}
		_ = json.NewEncoder(w).Encode(received{name, r.Method, r.RequestURI, r.Host, string(body), r.Header})
	}))
	f.t.Cleanup(server.Close)
	if f.urls == nil {
		f.urls = map[string][]string{}
	}
	f.urls[service] = append(f.urls[service], server.URL)
	return server.URL
}

// serve makes Ingresses active. Each Service has its endpoints.
func (f *farm) serve(sites ...placed) table {
	f.t.Helper()
	cluster := newCluster()
	cluster.apply(f.t, readFile(f.t, "testdata/common.txt"))
	for service := range f.urls {
		cluster.services.put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: service},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
	for i := range sites {
		cluster.ingresses.put(sites[i].object())
	}
	return serveWith(f.t, translated(f.t, cluster.provider(defaultConfig())),
		func(name string, service *dynamic.Service) *dynamic.Service {
			if len(service.LoadBalancer.Servers) > 0 {
				return service // It is no Service of the cluster.
			}
			changed, balancer := *service, *service.LoadBalancer
			balancer.EndpointSet, balancer.Scheme, changed.LoadBalancer = "", "", &balancer
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "shop."), ",")
			for _, url := range f.urls[name] {
				server := dynamic.Server{}
				server.SetDefaults()
				server.URL = url
				balancer.Servers = append(balancer.Servers, server)
			}
			return &changed
		})
}

// send sends a request, and returns the response, and the request of which it tells if it is that of an endpoint.
func (a table) send(t *testing.T, method, target, body string, headers ...string) (*http.Response, received) {
	t.Helper()
	host, path, _ := strings.Cut(target, "/")
	ctx := telemetry.WithRecord(context.Background(), &telemetry.Record{Client: "192.0.2.1"})
	var content io.Reader = http.NoBody
	if body != "" {
		content = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(ctx, method, "/"+path, content)
	r.Host = host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	a.ServeHTTP(recorder, r)
	var got received
	if recorder.Header().Get("X-Endpoint") != "" && method != http.MethodHead {
		if err := json.Unmarshal(recorder.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s %s: %v in %q", method, target, err, recorder.Body)
		}
	}
	response := recorder.Result()
	_ = response.Body.Close()
	return response, got
}

// get sends a GET request, and returns the name of the endpoint.
func (a table) get(t *testing.T, target string, headers ...string) string {
	t.Helper()
	_, got := a.send(t, http.MethodGet, target, "", headers...)
	return got.Endpoint
}

// TestCanaryServes has the order in which a canary is decided: header, cookie, weight.
func TestCanaryServes(t *testing.T) {
	f := &farm{t: t}
	canary := func(host string, annotations map[string]string) []placed {
		annotations["canary"] = "true"
		name, _, _ := strings.Cut(host, ".")
		f.add(name+"-main", nil)
		f.add(name+"-next", nil)
		return []placed{
			{name, host, "/", name + "-main", nil}, {name + "-canary", host, "/", name + "-next", annotations},
		}
	}
	var sites []placed
	for host, annotations := range map[string]map[string]string{
		"all.test":   {"canary-weight": "100", "canary-by-header": "X-Try", "canary-by-cookie": "try"},
		"none.test":  {"canary-weight": "0", "canary-by-header": "X-Try", "canary-by-cookie": "try"},
		"value.test": {"canary-by-header": "X-Try", "canary-by-header-value": "yes", "canary-by-cookie": "try"},
		"match.test": {"canary-by-header": "X-Try", "canary-by-header-pattern": "^v[0-9]+$"},
		"total.test": {"canary-weight": "150", "canary-weight-total": "150"},
	} {
		sites = append(sites, canary(host, annotations)...)
	}
	served := f.serve(sites...)
	for _, one := range []struct{ host, header, cookie, want string }{
		{"all.test", "", "", "next0"},
		{"all.test", "never", "try=always", "main0"},
		{"all.test", "other", "try=never", "main0"},
		{"all.test", "other", "try=other", "next0"},
		{"none.test", "", "", "main0"},
		{"none.test", "always", "try=never", "next0"},
		{"none.test", "", "try=always", "next0"},
		{"none.test", "other", "", "main0"},
		{"value.test", "yes", "try=never", "next0"},
		{"value.test", "always", "", "main0"},
		{"value.test", "no", "try=always", "next0"},
		{"match.test", "v12", "", "next0"},
		{"match.test", "v", "", "main0"},
		{"total.test", "", "", "next0"},
	} {
		var headers []string
		if one.header != "" {
			headers = append(headers, "X-Try", one.header)
		}
		if one.cookie != "" {
			headers = append(headers, "Cookie", one.cookie)
		}
		if got := served.get(t, one.host+"/", headers...); !strings.HasSuffix(got, "-"+one.want) {
			t.Errorf("%+v: %s", one, got)
		}
	}
}

// TestAffinityServes keeps clients at their endpoint, also at a location that sets no cookie of its own.
func TestAffinityServes(t *testing.T) {
	for _, mode := range []string{"balanced", "persistent"} {
		t.Run(mode, func(t *testing.T) {
			f := &farm{t: t}
			for range 3 {
				f.add("main", nil)
			}
			served := f.serve(
				placed{"a", "a.test", "/sticks", "main", map[string]string{
					"affinity": "cookie", "affinity-mode": mode, "session-cookie-name": "route",
				}},
				placed{"b", "a.test", "/follows", "main", nil},
			)
			used := map[string]bool{}
			for range 30 {
				response, first := served.send(t, http.MethodGet, "a.test/sticks", "")
				cookies := response.Cookies()
				if len(cookies) != 1 || cookies[0].Name != "route" || cookies[0].Path != "/sticks" || !cookies[0].HttpOnly {
					t.Fatalf("the cookies %v", cookies)
				}
				used[first.Endpoint] = true
				cookie := "route=" + cookies[0].Value
				for _, path := range []string{"/sticks", "/follows"} {
					response, again := served.send(t, http.MethodGet, "a.test"+path, "", "Cookie", cookie)
					if again.Endpoint != first.Endpoint || len(response.Cookies()) > 0 {
						t.Errorf("%s: %s after %s, cookies %v", path, again.Endpoint, first.Endpoint, response.Cookies())
					}
				}
			}
			if response, _ := served.send(t, http.MethodGet, "a.test/follows", ""); len(response.Cookies()) > 0 {
				t.Errorf("a location without affinity sets %v", response.Cookies())
			}
			if len(used) != 3 {
				t.Errorf("new clients are at %v alone", used)
			}
		})
	}
}

// TestHashServes sends requests with one key to one endpoint.
func TestHashServes(t *testing.T) {
	f := &farm{t: t}
	for range 3 {
		f.add("main", nil)
	}
	served := f.serve(placed{"a", "a.test", "/", "main", map[string]string{"upstream-hash-by": "$arg_key"}})
	used := map[string]bool{}
	for key := range 60 {
		target := fmt.Sprint("a.test/?key=", key)
		first := served.get(t, target)
		used[first] = true
		for range 3 {
			if again := served.get(t, target); again != first {
				t.Errorf("key %d: %s after %s", key, again, first)
			}
		}
	}
	if len(used) != 3 {
		t.Errorf("the keys are at %v alone", used)
	}
}
