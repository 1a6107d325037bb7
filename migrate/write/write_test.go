package write_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/migrate/write"
)

// configuration has a route of which the middleware cannot be written.
func configuration(middleware *dynamic.Middleware) *dynamic.Configuration {
	return &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{
		Routers: immutable.Of(map[string]*dynamic.Router{
			"shop.web,000,000@kubernetesingressnginx": {
				Rule: "Host(`a.example.com`)", Middlewares: []string{"own@kubernetesingressnginx"}, Service: "shop.web,80",
			},
		}),
		Middlewares: immutable.Of(map[string]*dynamic.Middleware{"own@kubernetesingressnginx": middleware}),
		Services: immutable.Of(map[string]*dynamic.Service{
			"shop.web,80@kubernetesingressnginx": {LoadBalancer: &dynamic.ServersLoadBalancer{}},
		}),
	}}
}

func TestRoutesThatCannotBeWrittenAreClosed(t *testing.T) {
	for name, middleware := range map[string]*dynamic.Middleware{
		"no users":       {BasicAuth: &dynamic.BasicAuth{}},
		"users in files": {BasicAuth: &dynamic.BasicAuth{Users: []string{"a:b"}, UsersFile: "/x"}},
		"authorities in files": {ClientCertificate: &dynamic.ClientCertificate{
			CAFiles: []string{"/etc/ca.pem"},
		}},
		"Secrets":           {AuthRequest: &dynamic.AuthRequest{URL: "https://a/", TLS: &dynamic.ClientTLS{CA: "/x"}}},
		"another kind":      {JWT: &dynamic.JWT{}},
		"a missing member":  {SatisfyAny: &dynamic.SatisfyAny{Middlewares: []string{"absent"}}},
		"a circle":          {Chain: &dynamic.Chain{Middlewares: []string{"own"}}},
		"nothing, declared": nil,
	} {
		for _, format := range write.Formats() {
			var out bytes.Buffer
			left, err := write.Write(&out, configuration(middleware), format)
			if err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if len(left) == 0 || !strings.Contains(left[0], "router shop.web,000,000 (Host(`a.example.com`)) answers 503: ") {
				t.Errorf("%s: %q", name, left)
			}
			if !strings.Contains(text, "directResponse:\n    status: 503") ||
				!strings.Contains(text, "- kind: TraefikService\n") || strings.Contains(text, "name: web\n      port") {
				t.Errorf("%s:\n%s", name, text)
			}
		}
	}
}

func TestRoutesAreWritten(t *testing.T) {
	var out bytes.Buffer
	left, err := write.Write(&out, configuration(&dynamic.Middleware{
		BasicAuth: &dynamic.BasicAuth{Users: []string{"ann:hash"}},
	}), write.IngressRoute)
	if err != nil || len(left) != 0 {
		t.Fatal(left, err)
	}
	for _, want := range []string{"secret: own-users", "ann:hash", "- name: own\n", "name: web\n      port: 80"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	if _, err := write.Write(&out, &dynamic.Configuration{}, "other"); err == nil {
		t.Error("a format that is not known is accepted")
	}
}

// TestRoutesOfServers demands that what belongs to a host with a wildcard is written in its namespace.
func TestRoutesOfServers(t *testing.T) {
	of := configuration(&dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{Users: []string{"ann:hash"}}})
	of.HTTP.Routers = immutable.Of(map[string]*dynamic.Router{
		"shop.web,000,000@kubernetesingressnginx":             {Rule: "Host(`*.example.com`)", Service: "shop.web,80"},
		"server,_.example.com,approot@kubernetesingressnginx": {Rule: "Path(`/`)", Service: "shop.web,80"},
	})
	var out bytes.Buffer
	left, err := write.Write(&out, of, write.IngressRoute)
	if err != nil || len(left) != 0 || !strings.Contains(out.String(), "Path(`/`)") {
		t.Error(left, err, out.String())
	}
}

// TestClosedRoutesAreNotedOnce has a router for requests with TLS beside the one without.
func TestClosedRoutesAreNotedOnce(t *testing.T) {
	of := configuration(&dynamic.Middleware{BasicAuth: &dynamic.BasicAuth{}})
	routers := map[string]*dynamic.Router{}
	for name, router := range of.HTTP.Routers.All() {
		plain, provider, _ := strings.Cut(name, "@")
		routers[name], routers[plain+",tls@"+provider] = router, router
	}
	of.HTTP.Routers = immutable.Of(routers)
	for _, format := range write.Formats() {
		left, err := write.Write(new(bytes.Buffer), of, format)
		count := 0
		for _, line := range left {
			count += strings.Count(line, "answers 503")
		}
		if err != nil || count != 1 || strings.Contains(left[0], ",tls") {
			t.Errorf("%s: %q, %v", format, left, err)
		}
	}
}
