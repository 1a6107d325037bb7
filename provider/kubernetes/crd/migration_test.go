package crd

import (
	"fmt"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// TestRoutesKeepTheirPlace proves that a route is there without its Service or its port, so that no other route takes
// its requests, that it serves as soon as they exist, and that endpoints play no part.
func TestRoutesKeepTheirPlace(t *testing.T) {
	c := newCluster(t, static.KubernetesCRD{})
	service := func(port int) {
		c.manifest(fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"shop","name":"web"},
			"spec":{"ports":[{"port":%d}]}}`, port))
	}
	name := routerName("shop", "web", "Path(`/`)")
	check := func(what string, serves bool) {
		t.Helper()
		configuration, _ := c.update()
		if configuration.HTTP.Routers.Get(name) == nil || configuration.HTTP.Services.Get(name) == nil {
			t.Fatalf("%s: the router or its service is not there", what)
		}
		want := dynamic.Ref{Kind: dynamic.KindService, Name: name}
		switch verdicts := configuration.Verdicts; {
		case serves && len(verdicts) > 0:
			t.Errorf("%s: verdicts %v", what, verdicts)
		case serves:
		case len(verdicts) != 1 || verdicts[0].Ref != want || verdicts[0].Status != dynamic.Quarantined ||
			!verdicts[0].Missing:
			t.Errorf("%s: verdicts %v, want one on %s that something is missing", what, verdicts, want)
		}
	}
	c.manifest([]byte(`{"apiVersion":"traefik.io/v1alpha1","kind":"IngressRoute",
		"metadata":{"namespace":"shop","name":"web"},
		"spec":{"routes":[{"match":"Path(` + "`/`" + `)","services":[{"name":"web","port":80}]}]}}`))
	check("without its Service", false)
	service(81)
	check("without its port", false)
	service(80)
	check("with both", true)
}

// TestGroupsComeInOrder proves which of several objects with one name counts, and that the next one does when it goes.
func TestGroupsComeInOrder(t *testing.T) {
	c := newCluster(t, static.KubernetesCRD{})
	groups := v1alpha1.Groups()
	for _, group := range []int{1, 2, 0} {
		c.manifest(fmt.Appendf(nil,
			`{"apiVersion":"%s/v1alpha1","kind":"Middleware","metadata":{"namespace":"shop","name":"a"},
			"spec":{"addPrefix":{"prefix":"/%d"}}}`, groups[group], group))
	}
	for first := range groups {
		configuration, _ := c.update()
		got, want := configuration.HTTP.Middlewares.Get("shop-a").AddPrefix.Prefix, fmt.Sprintf("/%d", first)
		if got != want {
			t.Errorf("the prefix is %s, want %s of the group %s", got, want, groups[first])
		}
		if told := len(configuration.Verdicts); told != len(groups)-1-first {
			t.Errorf("with %s in force, %d objects get the verdict that they are not used: %v", groups[first], told,
				configuration.Verdicts)
		}
		gone := translation.Source{Kind: kindOf(v1alpha1.KindMiddleware, groups[first]), Namespace: "shop", Name: "a"}
		delete(c.custom, gone)
		c.provider.touch(v1alpha1.KindMiddleware, groups[first], "shop", "a")
	}
}
