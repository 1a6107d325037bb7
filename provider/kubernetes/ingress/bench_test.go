package ingress

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/static"
)

// BenchmarkEditOneOf5000 is one edit of one Ingress among many, from the watch to the configuration.
func BenchmarkEditOneOf5000(b *testing.B) {
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	made := func(i, generation int) *networkingv1.Ingress {
		exact := networkingv1.PathTypeExact
		ingress := &networkingv1.Ingress{}
		ingress.Namespace, ingress.Name, ingress.Generation = "shop", fmt.Sprintf("i-%d", i), int64(generation)
		ingress.Annotations = map[string]string{
			prefix + "router.entrypoints": "web",
			prefix + "router.middlewares": "a@kubernetescrd",
		}
		backend := networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: fmt.Sprintf("s-%d", i), Port: networkingv1.ServiceBackendPort{Number: 80},
		}}
		ingress.Spec.Rules = []networkingv1.IngressRule{{Host: fmt.Sprintf("h%d.example.com", i)}}
		ingress.Spec.Rules[0].HTTP = &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{
			{Path: fmt.Sprintf("/%d", generation), PathType: &exact, Backend: backend},
		}}
		return ingress
	}
	for i := range 5000 {
		service := &corev1.Service{}
		service.Namespace, service.Name = "shop", fmt.Sprintf("s-%d", i)
		service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		cluster.services.put(service)
		cluster.ingresses.put(made(i, 0))
	}
	p.update()
	b.ReportAllocs()
	for generation := 1; b.Loop(); generation++ {
		cluster.ingresses.put(made(generation%5000, generation))
		if _, changed := p.update(); !changed {
			b.Fatal("the edit changed nothing")
		}
	}
}
