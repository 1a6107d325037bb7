package ingressnginx

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware"
)

// quarantined reports whether a router is kept from serving.
func quarantined(configuration *dynamic.Configuration, router string) bool {
	return slices.ContainsFunc(configuration.Verdicts, func(v dynamic.Verdict) bool {
		return v.Ref.Kind == dynamic.KindRouter && v.Ref.Name == router && v.Status == dynamic.Quarantined
	})
}

// TestFollowsWhatProtects closes routers while what protects them does not exist, and opens them when it does.
func TestFollowsWhatProtects(t *testing.T) {
	const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web
  namespace: shop
  annotations: {%s}
spec:
  ingressClassName: nginx
  rules:
  - host: "a.example.com"
    http:
      paths:
      - {pathType: Prefix, path: "/", backend: {service: {name: web, port: {number: 80}}}}
`
	const prefix = "nginx.ingress.kubernetes.io/"
	for name, test := range map[string]struct{ annotations, object string }{
		"passwords": {
			prefix + `auth-type: basic, ` + prefix + `auth-secret: users`,
			"apiVersion: v1\nkind: Secret\nmetadata: {name: users, namespace: shop}\ndata: {auth: YTp7UExBSU59Yg==}\n",
		},
		"certificates": {
			prefix + `auth-tls-secret: shop/authority, ` + prefix + `auth-tls-verify-client: "on"`,
			string(secretOf(t, "testdata/clients.yaml", "authority")),
		},
		"headers of the subrequest": {
			prefix + `auth-url: "http://auth.example.com/", ` + prefix + `auth-proxy-set-headers: shop/headers`,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: headers, namespace: shop}\ndata: {X-One: \"1\"}\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			cluster.apply(t, readFile(t, "testdata/common.txt"))
			cluster.apply(t, fmt.Appendf(nil, ingress, test.annotations))
			p := cluster.provider(defaultConfig())
			configuration := translated(t, p)
			for round, want := range []bool{true, false, true} {
				switch round {
				case 1:
					cluster.apply(t, []byte(test.object))
				case 2:
					for _, name := range []string{"users", "authority"} {
						cluster.secrets.drop("shop", name)
					}
					cluster.configMaps.drop("shop", "headers")
				}
				if round > 0 {
					configuration, _ = p.update()
				}
				for _, router := range []string{"shop.web,000,000", "shop.web,000,000,tls"} {
					if got := quarantined(configuration, router); got != want {
						t.Errorf("round %d: router %s is quarantined: %v", round, router, got)
					}
				}
			}
		})
	}
}

// secretOf returns the manifest of a Secret in a file.
func secretOf(t *testing.T, file, name string) []byte {
	t.Helper()
	for _, manifest := range bytes.Split(readFile(t, file), []byte("\n---\n")) {
		if bytes.Contains(manifest, []byte("kind: Secret\nmetadata: {name: "+name+",")) {
			return manifest
		}
	}
	t.Fatalf("%s has no Secret %s", file, name)
	return nil
}

// TestGuardsAreBuilt makes the middlewares of the golden files, of which none may be refused.
func TestGuardsAreBuilt(t *testing.T) {
	for _, name := range []string{"access", "auth", "authrequest", "limits", "cors", "clients"} {
		content := readFile(t, "testdata/"+name+".yaml")
		cluster := newCluster()
		cluster.apply(t, readFile(t, "testdata/common.txt"))
		cluster.apply(t, content)
		all := translated(t, cluster.provider(optionsOf(t, content))).HTTP.Middlewares
		builder := middleware.NewBuilder(middleware.Options{})
		t.Cleanup(builder.Close)
		var build func(name string) ([]middleware.Middleware, error)
		build = func(name string) ([]middleware.Middleware, error) {
			definition := all.Get(name)
			if definition == nil {
				return nil, fmt.Errorf("there is no middleware %s", name)
			}
			members := []string{name}
			if definition.Chain != nil {
				members = definition.Chain.Middlewares
			}
			var steps []middleware.Middleware
			for _, member := range members {
				step, err := builder.Build(member, all.Get(member), middleware.References{Middleware: build}, &middleware.Reads{})
				if err != nil {
					return nil, err
				}
				if closing, ok := step.(middleware.Closer); ok {
					t.Cleanup(closing.Close)
				}
				steps = append(steps, step)
			}
			return steps, nil
		}
		for _, definition := range slices.Sorted(all.Keys()) {
			if _, err := build(definition); err != nil {
				t.Errorf("%s: %s: %v", name, definition, err)
			}
		}
	}
}
