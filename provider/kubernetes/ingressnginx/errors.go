package ingressnginx

import (
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
)

// errorPages has the default backend answer in place of errors.
func (d *locationDraft) errorPages() {
	pages := &d.options.Errors
	if len(pages.Statuses) == 0 {
		return
	}
	made := &dynamic.ErrorPage{
		Service: d.pages(), Query: "/", PageStatus: true, OriginalRequest: true, OwnErrors: pages.KeepUpstream,
		ErrorResponseHeaders: []string{"Location", "WWW-Authenticate"},
		RequestHeaders: append(d.errorHeaders("{originalStatus}"),
			dynamic.HeaderValue{Name: "X-Original-URI", Value: "$request_uri"}),
	}
	for _, status := range pages.Statuses {
		made.Status = append(made.Status, strconv.Itoa(status))
	}
	d.use(phaseErrors, "errors", &dynamic.Middleware{Errors: made})
}

// errorHeaders are the headers from which a default backend learns about the error.
func (d *locationDraft) errorHeaders(code string) []dynamic.HeaderValue {
	names := d.objects()
	return []dynamic.HeaderValue{
		{Name: "X-Code", Value: code},
		{Name: "X-Format", Value: "$http_accept"},
		{Name: "X-Namespace", Value: names["namespace"]},
		{Name: "X-Ingress-Name", Value: names["ingress_name"]},
		{Name: "X-Service-Name", Value: names["service_name"]},
		{Name: "X-Service-Port", Value: names["service_port"]},
		{Name: "X-Request-ID", Value: "$req_id"},
	}
}

// pages returns the service that answers in place of errors: that of the annotation default-backend while it has
// endpoints, else that of all hosts, or 404.
func (d *locationDraft) pages() string {
	others := d.notFound
	if key, given := d.fallback(); given {
		others = func() string { return d.serviceOf(key, d.referenceTo(key)) }
	}
	key, given := d.standIn()
	if !given {
		return others()
	}
	return d.declare("failover", &dynamic.Service{Failover: &dynamic.Failover{
		Service: d.serviceOf(key, d.referenceTo(key)), Fallback: others(),
	}})
}

// standIn returns the first port of the Service of the annotation default-backend; false when there is none.
func (d *locationDraft) standIn() (serviceKey, bool) {
	if d.ingress == nil || d.options.Backend.Default == "" {
		return serviceKey{}, false
	}
	key := d.firstPort(d.ingress.Namespace, d.options.Backend.Default)
	if key.Port == "0" {
		d.degrade(dynamic.CodeMissingService, "default-backend: Service "+key.Namespace+"/"+key.Service+
			" does not exist, or has no port", true)
		return serviceKey{}, false
	}
	return key, true
}

// defaultBackend answers while the service has no endpoint.
func (d *locationDraft) defaultBackend() {
	key, given := d.standIn()
	if !given || d.reference.Balancer == nil {
		return
	}
	headers := d.define("errorheaders", &dynamic.Middleware{
		ProxySetHeader: &dynamic.ProxySetHeader{Headers: d.errorHeaders("503")},
	})
	reference := d.referenceTo(key)
	reference.Scheme = d.reference.Scheme
	reference.Balancer.ServersTransport = d.reference.Balancer.ServersTransport
	fallback := d.wrapped(d.serviceOf(key, reference), headers)
	if d.provider.watches.Service(d.key.Namespace, d.key.Service) == nil {
		d.service = fallback // A service that is not applied takes along those that depend on it.
		return
	}
	d.service = d.declare("failover", &dynamic.Service{Failover: &dynamic.Failover{
		Service: d.service, Fallback: fallback,
	}})
}

// wrapped returns a service behind middlewares.
func (d *locationDraft) wrapped(service string, middlewares ...string) string {
	if len(middlewares) == 0 {
		return service
	}
	one := 1
	return d.declare("wrapped", &dynamic.Service{
		Weighted: &dynamic.WeightedRoundRobin{
			Services: []dynamic.WeightedService{{Name: service, Weight: &one}}, HealthCheck: &dynamic.HealthCheck{},
		},
		Middlewares: middlewares,
	})
}

// notFound declares the answer of ingress-nginx where there is no default backend, and returns its name.
func (d *locationDraft) notFound() string {
	return d.directResponse(&dynamic.DirectResponse{Status: 404, Body: "default backend - 404"})
}
