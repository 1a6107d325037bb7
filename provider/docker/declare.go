package docker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// declaration is what one container declares, with defaults added. It does not contain addresses, and is immutable.
type declaration struct {
	name   string
	labels *dynamic.Labels
	config *dynamic.Configuration
	// objects are those of config; declarer is the origin of each.
	objects  map[dynamic.Ref]any
	declarer string
	// wrong holds the reasons for quarantining objects.
	wrong map[dynamic.Ref][]string
	// implied is set if the labels neither declare an object nor enable the container.
	implied bool
}

// countObjects returns the number of objects.
func countObjects(http *dynamic.HTTPConfiguration) int {
	return http.Routers.Len() + http.Services.Len() + http.Middlewares.Len() + http.ServersTransports.Len()
}

// newDeclaration adds defaults to what the labels of a container declare. own is set for the container of Sluice
// itself.
func newDeclaration(c *container, rule *gotemplate.Template, own bool) *declaration {
	from := c.declared.Configuration
	d := &declaration{
		name: c.name, labels: c.declared, wrong: map[dynamic.Ref][]string{},
		config: &dynamic.Configuration{
			HTTP: &dynamic.HTTPConfiguration{
				Routers: from.HTTP.Routers, Services: from.HTTP.Services,
				Middlewares: from.HTTP.Middlewares, ServersTransports: from.HTTP.ServersTransports,
			},
			TCP: from.TCP, UDP: from.UDP, TLS: from.TLS,
		},
	}
	for _, verdict := range from.Verdicts {
		d.refuse(verdict.Ref, verdict.Reason)
	}
	declared := countObjects(d.config.HTTP)
	d.implied = declared == 0 && from.TCP == nil && from.UDP == nil && c.declared.Options.Enable == nil
	switch {
	case declared == 0 && len(c.declared.Wrong) > 0:
	case declared == 0 && (from.TCP != nil || from.UDP != nil):
	default:
		d.complete(c, rule, own)
	}
	d.completeTCP(c)
	d.completeUDP(c)
	d.objects, d.declarer = d.refs(), c.declarer()
	if len(c.declared.Wrong) > 0 {
		for ref := range d.objects {
			d.refuse(ref, c.declared.Wrong[0])
		}
	}
	return d
}

func (d *declaration) refuse(ref dynamic.Ref, reason string) {
	d.wrong[ref] = append(d.wrong[ref], reason)
}

// complete adds a missing service and router, and missing options of routers.
func (d *declaration) complete(c *container, rule *gotemplate.Template, own bool) {
	http, name := d.config.HTTP, c.service()
	if http.Services.IsZero() {
		balancer := &dynamic.ServersLoadBalancer{}
		balancer.SetDefaults()
		http.Services = http.Services.With(name, &dynamic.Service{LoadBalancer: balancer})
	}
	if http.Routers.IsZero() && http.Services.Len() == 1 && !own {
		http.Routers = http.Routers.With(name, &dynamic.Router{})
	}
	for name, router := range http.Routers.All() {
		router := *router
		http.Routers = http.Routers.With(name, &router)
		d.completeRouter(c, rule, name, &router)
	}
}

// completeRouter sets the rule and the service of a router that has none.
func (d *declaration) completeRouter(c *container, rule *gotemplate.Template, name string, router *dynamic.Router) {
	ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: name}
	if router.Rule == "" {
		text, err := defaultRule(rule, c)
		if err != nil {
			d.refuse(ref, err.Error())
		}
		router.Rule, router.RuleSyntax = text, "v3"
	}
	if router.Service == "" {
		router.Service = onlyService(d, ref, &d.config.HTTP.Services)
	}
}

// completeTCP adds a missing service and missing options of routers to what a container declares for TCP. A container
// with neither routers nor services for TCP is no server.
func (d *declaration) completeTCP(c *container) {
	from := d.config.TCP
	if from == nil || from.Routers.IsZero() && from.Services.IsZero() {
		return
	}
	tcp := *from
	d.config.TCP = &tcp
	if tcp.Services.IsZero() {
		balancer := &dynamic.TCPServersLoadBalancer{}
		balancer.SetDefaults()
		tcp.Services = tcp.Services.With(c.service(), &dynamic.TCPService{LoadBalancer: balancer})
	}
	for name, router := range tcp.Routers.All() {
		ref := dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: name}
		if router.Rule == "" {
			d.refuse(ref, "has no rule; HostSNI(`*`) takes all connections")
		}
		if router.Service == "" {
			router := *router
			router.Service = onlyService(d, ref, &tcp.Services)
			tcp.Routers = tcp.Routers.With(name, &router)
		}
	}
}

// completeUDP adds a missing service and missing options of routers to what a container declares for UDP. A container
// without both is no server.
func (d *declaration) completeUDP(c *container) {
	from := d.config.UDP
	if from == nil || from.Routers.IsZero() && from.Services.IsZero() {
		return
	}
	udp := *from
	d.config.UDP = &udp
	if udp.Services.IsZero() {
		balancer := &dynamic.UDPServersLoadBalancer{}
		balancer.SetDefaults()
		udp.Services = udp.Services.With(c.service(), &dynamic.UDPService{LoadBalancer: balancer})
	}
	for name, router := range udp.Routers.All() {
		if router.Service == "" {
			router := *router
			router.Service = onlyService(d, dynamic.Ref{Kind: dynamic.KindUDPRouter, Name: name}, &udp.Services)
			udp.Routers = udp.Routers.With(name, &router)
		}
	}
}

// onlyService returns the only service of a container, which is that of a router that names none. With several, the
// router is refused.
func onlyService[S any](d *declaration, router dynamic.Ref, all *dynamic.Objects[S]) string {
	services := slices.Sorted(all.Keys())
	if len(services) > 1 {
		d.refuse(router, fmt.Sprintf("names no service, and the container has %d of them: %s", len(services),
			strings.Join(services, ", ")))
		return ""
	}
	return services[0]
}

func (d *declaration) refs() map[dynamic.Ref]any { return maps.Collect(d.config.Objects()) }
