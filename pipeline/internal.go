package pipeline

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// InternalProvider is the name of the provider whose objects are made from static options.
const InternalProvider = "internal"

// The services that Sluice itself answers, as the objects of Internal refer to them.
const (
	// ServicePing answers /ping and /ready.
	ServicePing = "ping@internal"
	// ServicePrometheus answers /metrics.
	ServicePrometheus = "prometheus@internal"
	// ServiceAPI answers /api.
	ServiceAPI = "api@internal"
	// ServiceDashboard answers /dashboard, and what the page requests.
	ServiceDashboard = "dashboard@internal"
	// ServiceAdmin answers /api/admin. No object of Internal refers to it: a router of users leads to it.
	ServiceAdmin = "admin@internal"
	// ServiceACME answers HTTP-01 challenges.
	ServiceACME = "acme-http@internal"
	// ServiceNoop answers 418; it stands behind routers whose middlewares always answer.
	ServiceNoop = "noop@internal"
)

// The priorities of Sluice's own routers; routers of users end at math.MaxInt-1000.
const (
	priorityProbe = math.MaxInt
	priorityAPI   = math.MaxInt - 1
)

// Internal returns the objects that static options declare: redirections between entrypoints, and routers to ping,
// metrics and the API. Options that cannot be followed make an object with a verdict.
func Internal(configuration *static.Configuration) *dynamic.Configuration {
	out := &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{}}
	for _, name := range slices.Sorted(maps.Keys(configuration.EntryPoints)) {
		redirect(out, configuration, name)
	}
	challenges(out, configuration)
	if ping := configuration.Ping; ping != nil && !ping.ManualRouting {
		route(out, "ping", "ping", ping.EntryPoint, "PathPrefix(`/ping`)", ServicePing, priorityProbe)
		route(out, "ready", "ping", ping.EntryPoint, "Path(`/ready`)", ServicePing, priorityProbe)
	}
	if metrics := configuration.Metrics; metrics != nil && metrics.Prometheus != nil && !metrics.Prometheus.ManualRouting {
		route(out, "prometheus", "metrics.prometheus", metrics.Prometheus.EntryPoint, "PathPrefix(`/metrics`)",
			ServicePrometheus, priorityProbe)
	}
	if api := configuration.API; api != nil && api.Insecure {
		manage(out, api)
	}
	return out
}

// challenges adds the routers of HTTP-01 challenges (RFC 8555, section 8.3) on the entrypoints of the resolvers. With
// allowACMEByPass, routers of users with longer rules come before them.
func challenges(out *dynamic.Configuration, configuration *static.Configuration) {
	const rule = "PathPrefix(`/.well-known/acme-challenge/`)"
	added := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(configuration.CertificatesResolvers)) {
		resolver := configuration.CertificatesResolvers[name]
		if resolver == nil || resolver.ACME == nil || resolver.ACME.HTTPChallenge == nil {
			continue
		}
		at := resolver.ACME.HTTPChallenge.EntryPoint
		entryPoint := configuration.EntryPoints[at]
		if entryPoint == nil || added[at] {
			continue
		}
		added[at] = true
		priority := priorityProbe
		if entryPoint.AllowACMEByPass {
			priority = len(rule)
		}
		router := unused(out.HTTP.Routers, "acme-http-"+normalize(at))
		route(out, router, "certificatesResolvers."+name+".acme.httpChallenge", at, rule, ServiceACME, priority)
	}
}

// manage adds the routers to the API and what goes with it.
func manage(out *dynamic.Configuration, api *static.API) {
	base := strings.TrimRight(api.BasePath, "/")
	route(out, "api", "api", static.InternalEntryPoint, "PathPrefix(`"+base+"/api`)", ServiceAPI, priorityAPI)
	if api.Debug {
		route(out, "debug", "api.debug", static.InternalEntryPoint, "PathPrefix(`"+base+"/debug`)", ServiceAPI, priorityAPI)
	}
	if api.Dashboard {
		rule := "Path(`" + base + "/`) || PathPrefix(`" + base + "/dashboard`)"
		route(out, "dashboard", "api.dashboard", static.InternalEntryPoint, rule, ServiceDashboard, priorityAPI-1)
	}
}

// route adds a router to a service that Sluice itself answers.
func route(out *dynamic.Configuration, name, option, entryPoint, rule, service string, priority int) {
	out.HTTP.Routers = out.HTTP.Routers.With(name, &dynamic.Router{
		EntryPoints: []string{entryPoint},
		Rule:        rule,
		Service:     service,
		Priority:    priority,
	})
	locate(out, dynamic.KindRouter, name, option)
}

// redirect adds the router that redirects everything from one entrypoint to another, if it is configured.
func redirect(out *dynamic.Configuration, configuration *static.Configuration, from string) {
	entryPoint := configuration.EntryPoints[from]
	if entryPoint == nil || entryPoint.HTTP.Redirections == nil || entryPoint.HTTP.Redirections.EntryPoint == nil {
		return
	}
	target := entryPoint.HTTP.Redirections.EntryPoint
	option := "entryPoints." + from + ".http.redirections.entryPoint"
	name := unused(out.HTTP.Routers, normalize(from+"-to-"+target.To))
	rule := "HostRegexp(`^.+$`)"
	if entryPoint.AllowACMEByPass {
		rule += " && !PathPrefix(`/.well-known/acme-challenge/`)"
	}
	port, err := redirectPort(configuration, target.To)
	if err != nil {
		out.Verdicts = append(out.Verdicts, dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindRouter, Name: name},
			Status: dynamic.Quarantined,
			Code:   dynamic.CodeInvalidOption,
			Reason: option + ".to: " + err.Error(),
		})
	}
	middleware := "redirect-" + name
	route(out, name, option, from, rule, ServiceNoop, target.Priority)
	out.HTTP.Routers.Get(name).Middlewares = []string{middleware}
	out.HTTP.Middlewares = out.HTTP.Middlewares.With(middleware, &dynamic.Middleware{
		RedirectScheme: &dynamic.RedirectScheme{Scheme: target.Scheme, Port: port, Permanent: target.Permanent},
	})
	locate(out, dynamic.KindMiddleware, middleware, option)
}

// redirectPort returns the port of the entrypoint that to names, or the port that it gives after a colon.
func redirectPort(configuration *static.Configuration, to string) (string, error) {
	if port, ok := strings.CutPrefix(to, ":"); ok {
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return "", fmt.Errorf("bad port %q", port)
		}
		return port, nil
	}
	target := configuration.EntryPoints[to]
	if target == nil {
		return "", fmt.Errorf("entrypoint %q does not exist", to)
	}
	address, err := target.ListenAddress()
	switch {
	case err != nil:
		return "", fmt.Errorf("entrypoint %q: %w", to, err)
	case address.Network != "tcp":
		return "", fmt.Errorf("entrypoint %q is not a TCP entrypoint", to)
	case address.Port == 0:
		return "", fmt.Errorf("the port of entrypoint %q is chosen by the system; name a port instead", to)
	}
	return strconv.Itoa(int(address.Port)), nil
}

// normalize joins the runs of letters and digits with dashes.
func normalize(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), "-")
}

// unused returns the name, with a number behind it where a router has that name already.
func unused(routers dynamic.Objects[dynamic.Router], name string) string {
	candidate := name
	for n := 2; routers.Get(candidate) != nil; n++ {
		candidate = name + "-" + strconv.Itoa(n)
	}
	return candidate
}

// locate notes which static option creates an object.
func locate(out *dynamic.Configuration, kind dynamic.Kind, name, option string) {
	out.Origins = out.Origins.With(dynamic.Ref{Kind: kind, Name: name}, dynamic.Origin{Object: option})
}
