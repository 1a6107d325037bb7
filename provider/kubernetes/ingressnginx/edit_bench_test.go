package ingressnginx

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// benchIngresses is how many Ingresses the cluster of the benchmark has, each for a host of its own, and benchServices
// how many Services.
const (
	benchIngresses = 2000
	benchServices  = 500
)

// benchAnnotations are the annotations of the Ingresses in turn.
func benchAnnotations() []map[string]string {
	return []map[string]string{
		nil,
		{"proxy-body-size": "8m", "proxy-read-timeout": "120"},
		{"rewrite-target": "/$2", "use-regex": "true"},
		{"force-ssl-redirect": "true"},
		{"allowlist-source-range": "10.0.0.0/8,192.0.2.0/24"},
		{"limit-rps": "20", "limit-connections": "10"},
		{"enable-cors": "true", "cors-allow-origin": "https://*.example.com"},
		{"affinity": "cookie", "session-cookie-name": "route"},
		{"auth-url": "http://auth.bench.svc/check", "auth-signin": "https://auth.example.com/start"},
		{"custom-http-errors": "404,503", "default-backend": "s1"},
		{"upstream-hash-by": "$request_uri"},
		{"server-alias": "alias-of.example.com", "configuration-snippet": `more_set_headers "X-A: b";`},
		{"backend-protocol": "HTTPS", "proxy-redirect-from": "http://a/", "proxy-redirect-to": "/"},
		{"permanent-redirect": "https://new.example.com/"},
		{"mirror-target": "http://mirror.example.com$request_uri"},
		{"canary": "true", "canary-weight": "10"},
	}
}

// benchIngress returns an Ingress. A canary is one of the Ingress before it.
func benchIngress(n int, timeout int64) *networkingv1.Ingress {
	all := benchAnnotations()
	annotations := map[string]string{}
	for name, value := range all[n%len(all)] {
		if name == "server-alias" {
			value = strconv.Itoa(n) + "." + value
		}
		annotations[name] = value
	}
	host := n
	if annotations["canary"] != "" {
		host--
	}
	if timeout > 0 {
		annotations["proxy-read-timeout"] = strconv.FormatInt(timeout, 10)
	}
	one := placed{
		fmt.Sprint("i", n), fmt.Sprintf("h%d.example.com", host), "/a", fmt.Sprint("s", n%benchServices), annotations,
	}
	made := one.object()
	made.Generation = timeout
	second := made.Spec.Rules[0].HTTP.Paths[0]
	second.Path = "/b"
	made.Spec.Rules[0].HTTP.Paths = append(made.Spec.Rules[0].HTTP.Paths, second)
	return made
}

// BenchmarkEdit changes an annotation of one of 2,000 Ingresses, from the translation until the table is active.
func BenchmarkEdit(b *testing.B) {
	cluster := newCluster()
	for n := range benchServices {
		cluster.services.put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("s", n)},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		})
	}
	for n := range benchIngresses {
		cluster.ingresses.put(benchIngress(n, 0))
	}
	class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "nginx"}}
	class.Spec.Controller = "k8s.io/ingress-nginx"
	cluster.classes.put(class)
	p := cluster.provider(defaultConfig())
	out, messages := benchPipeline(b)
	step := func() {
		configuration, _ := p.update()
		before := out.State()
		messages <- dynamic.Message{Configuration: configuration}
		for state := before; state.Generation == before.Generation; state = out.State() {
			<-state.Changed
		}
	}
	began := time.Now()
	step()
	b.Logf("start %v, %d routers", time.Since(began), p.countRouters())
	for name, n := range map[string]int{"plain": 1600, "rewrite": 1602, "affinity": 1607, "pages": 1609} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			timeout := int64(100)
			for b.Loop() {
				timeout++
				cluster.ingresses.put(benchIngress(n, timeout))
				step()
			}
		})
	}
}

// countRouters returns how many routers are declared.
func (p *Provider) countRouters() int {
	configuration, _ := p.update()
	return configuration.HTTP.Routers.Len()
}

type channel chan dynamic.Message

func (c channel) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	for {
		select {
		case message := <-c:
			messages <- message
		case <-ctx.Done():
			return nil
		}
	}
}

func benchPipeline(b *testing.B) (*pipeline.Pipeline, chan<- dynamic.Message) {
	b.Helper()
	messages := make(channel)
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	for n := range benchServices {
		registry.Apply(dynamic.EndpointSet{Key: fmt.Sprintf("kubernetes/shop/s%d/http", n)})
	}
	entryPoints := []router.EntryPoint{{Name: "web", Port: 80, Default: true, Policy: canonical.DefaultPolicy()}}
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	p := pipeline.New(pipeline.Options{
		Source: provider.NewHub([]provider.Entry{{Name: Name, Provider: messages}}, telemetry.Discard{}),
		Compiler: router.NewCompiler(router.Options{
			EntryPoints: entryPoints, Registry: registry, Transport: transport, Tickets: certificate.NewTickets(),
		}, router.NewActiveTable(entryPoints)),
		Endpoints: registry, Logger: telemetry.Discard{}, MaxHold: time.Nanosecond,
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return p, messages
}
