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
	d.implied = declared == 0 && c.declared.Options.Enable == nil
	switch {
	case declared == 0 && len(c.declared.Wrong) > 0:
	case declared == 0 && (from.TCP != nil || from.UDP != nil):
	default:
		d.complete(c, rule, own)
	}
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
	if router.Service != "" {
		return
	}
	services := slices.Sorted(d.config.HTTP.Services.Keys())
	if len(services) > 1 {
		d.refuse(ref, fmt.Sprintf("names no service, and the container has %d of them: %s", len(services),
			strings.Join(services, ", ")))
		return
	}
	router.Service = services[0]
}

func (d *declaration) refs() map[dynamic.Ref]any { return maps.Collect(d.config.Objects()) }
