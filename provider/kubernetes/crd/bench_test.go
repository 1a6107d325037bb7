package crd

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/static"
)

// BenchmarkEdit is what an edit of one of many IngressRoutes costs the provider, each with a Service of its own.
func BenchmarkEdit(b *testing.B) {
	for _, routes := range []int{1000, 5000, 20000} {
		b.Run(strconv.Itoa(routes), func(b *testing.B) {
			c := newCluster(b, static.KubernetesCRD{})
			for i := range routes {
				name := "web-" + strconv.Itoa(i)
				c.apply(service("shop", name, corev1.ServicePort{Port: 80}), "Service", "")
				route := ingressRoute(name, "Host(`"+name+".example.com`)", nil)
				route.Spec.Routes[0].Services[0].Name = name
				c.apply(route, v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)
			}
			c.update()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				route := ingressRoute("web-7", "Host(`web-7.example.com`)", nil)
				route.Spec.Routes[0].Services[0].Name = "web-7"
				route.Spec.Routes[0].Priority, route.Generation = i+1, int64(i+1)
				c.apply(route, v1alpha1.KindIngressRoute, v1alpha1.GroupTraefik)
				if _, changed := c.update(); !changed {
					b.Fatal("nothing changed")
				}
			}
		})
	}
}
