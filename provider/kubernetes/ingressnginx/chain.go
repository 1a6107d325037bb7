package ingressnginx

import (
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

// phase is the place of a middleware in the chain of a location.
type phase int

// The phases, first to last, in the order in which nginx and the controller's Lua decide about a request.
const (
	// phaseCertificate verifies the client's certificate, before everything else of the server.
	phaseCertificate phase = iota
	// phaseResponse edits every response of the location, also those of later phases.
	phaseResponse
	// phaseErrors replaces responses by error pages, also those of later phases, and sets headers that pages do not have.
	phaseErrors
	// phaseBody refuses bodies that are too large.
	phaseBody
	// phasePreflight answers preflight requests, and adds the headers of CORS.
	phasePreflight
	// phaseReturn redirects by the rewrite of configuration-snippet, or ends the chain with a response, see answer.
	phaseReturn
	// phaseSecure redirects to https.
	phaseSecure
	// phaseLimit limits rates, then connections.
	phaseLimit
	// phaseAccess decides by address, password and subrequest.
	phaseAccess
	// phaseBandwidth limits the rate of a response.
	phaseBandwidth
	// phaseBuffer buffers the request, and bounds times.
	phaseBuffer
	// phaseRequest edits the headers of the request, and of what endpoints answer.
	phaseRequest
	// phaseRewrite replaces path and query, last, since earlier phases see those of the client.
	phaseRewrite
	// phaseBalance chooses how endpoints are reached, in locationDraft.reference.
	phaseBalance
	// phaseService makes the service of the reference, and wraps it, in locationDraft.service.
	phaseService
	phases
)

// scope says for which routers of a host a phase is.
type scope int

const (
	// ofLocation is for the routers of a location alone.
	ofLocation scope = iota
	// ofSlash is also for the redirect to a final slash, which nginx does once it has found the location.
	ofSlash
	// ofServer is also for what the server answers before it looks for a location.
	ofServer
)

// step translates one topic of a location: it reads the options, the settings and the plan of the host, and calls use,
// answer, refuse and degrade. Steps are independent of each other.
type step func(d *locationDraft)

// stage is a phase with its steps, whose middlewares have their order.
type stage struct {
	phase phase
	scope scope
	steps []step
}

// chain is what a location does with a request, first to last.
func chain() []stage {
	return []stage{
		{phaseCertificate, ofServer, []step{(*locationDraft).clientCertificate}},
		{phaseResponse, ofSlash, []step{(*locationDraft).responseHeaders, (*locationDraft).compression}},
		{phaseErrors, ofSlash, []step{(*locationDraft).errorPages, (*locationDraft).locationHeaders}},
		{phaseBody, ofSlash, []step{(*locationDraft).bodySize}},
		{phasePreflight, ofLocation, []step{(*locationDraft).crossOrigin}},
		{phaseReturn, ofLocation, []step{(*locationDraft).redirectBySnippet, (*locationDraft).redirect}},
		{phaseSecure, ofLocation, []step{(*locationDraft).secureRedirect}},
		{phaseLimit, ofLocation, []step{(*locationDraft).rates, (*locationDraft).connections}},
		{phaseAccess, ofLocation, []step{(*locationDraft).firewall, (*locationDraft).access}},
		{phaseBandwidth, ofLocation, []step{(*locationDraft).bandwidth}},
		{phaseBuffer, ofLocation, []step{(*locationDraft).requestBuffering, (*locationDraft).timeouts}},
		{phaseRequest, ofLocation, []step{
			(*locationDraft).proxyRedirect, (*locationDraft).proxyCookie, (*locationDraft).requestHeaders,
		}},
		{phaseRewrite, ofLocation, []step{(*locationDraft).rewrite}},
		{phaseBalance, ofLocation, []step{
			(*locationDraft).protocol, (*locationDraft).balance, (*locationDraft).nextUpstream, (*locationDraft).proxyTLS,
			(*locationDraft).affinity,
		}},
		{phaseService, ofLocation, []step{
			(*locationDraft).backend, (*locationDraft).canary, (*locationDraft).defaultBackend, (*locationDraft).mirror,
		}},
	}
}

// run takes the steps of the phases that are at least of a scope.
func (d *locationDraft) run(least scope) {
	d.middlewares, d.response, d.refused, d.service = [phases][]string{}, nil, nil, ""
	for _, stage := range d.provider.chain {
		if stage.scope < least || d.response != nil && stage.phase > phaseReturn && stage.phase != phaseAccess {
			continue
		}
		for _, step := range stage.steps {
			step(d)
		}
	}
	if d.response != nil {
		// What protects may have refused the location; otherwise the response comes first.
		d.middlewares[phaseAccess] = nil
		d.service = d.directResponse(d.response)
	}
}

// use adds a middleware of a kind to a phase. Equal ones are one object, also of different Ingresses: it is for those
// without state.
func (d *locationDraft) use(phase phase, kind string, middleware *dynamic.Middleware) {
	d.middlewares[phase] = append(d.middlewares[phase], d.define(kind, middleware))
}

// useOwn adds a middleware with state, of which an Ingress has one for all of its locations that are alike.
func (d *locationDraft) useOwn(phase phase, kind string, middleware *dynamic.Middleware) {
	d.add(phase, hashed(d.ownName(kind), middleware), middleware)
}

// ownName returns what the names of an Ingress's objects of a kind begin with.
func (d *locationDraft) ownName(kind string) string {
	owner := nameOfServer(d.server.Host)
	if d.ingress != nil {
		owner = d.ingress.Namespace + "." + d.ingress.Name
	}
	return owner + "," + kind
}

func (d *locationDraft) add(phase phase, name string, middleware *dynamic.Middleware) {
	d.result.Put(dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}, middleware)
	d.middlewares[phase] = append(d.middlewares[phase], name)
}

// chained returns the middlewares in the order of phases.
func (d *locationDraft) chained() []string { return slices.Concat(d.middlewares[:]...) }

// answer ends the chain with a response.
func (d *locationDraft) answer(response *dynamic.DirectResponse) { d.response = response }

// directResponse declares the service of a response and returns its name.
func (d *locationDraft) directResponse(response *dynamic.DirectResponse) string {
	return d.declare("response", &dynamic.Service{DirectResponse: response})
}

// define declares a middleware without state and returns its name.
func (d *locationDraft) define(kind string, middleware *dynamic.Middleware) string {
	name, middleware := share(&d.provider.shared, kind, middleware)
	d.result.Put(dynamic.Ref{Kind: dynamic.KindMiddleware, Name: name}, middleware)
	return name
}

// declare declares a service without endpoints of its own and returns its name.
func (d *locationDraft) declare(kind string, service *dynamic.Service) string {
	name, service := share(&d.provider.shared, kind, service)
	d.result.Put(dynamic.Ref{Kind: dynamic.KindService, Name: name}, service)
	return name
}

// refuse keeps the routers from serving: they have their place and answer 503. It is for what protects and cannot be
// done, and for what cannot work. The first reason counts.
func (d *locationDraft) refuse(code dynamic.Code, reason string, missing bool) {
	if d.refused == nil {
		d.refused = &backend.Problem{Code: code, Reason: reason, Missing: missing}
	}
}

// degrade adds a verdict on something that has no effect, and protects nothing, to the Ingress or the server. Each
// verdict is added once.
func (d *locationDraft) degrade(code dynamic.Code, reason string, missing bool) {
	ref := dynamic.Ref{Kind: dynamic.KindSource, Name: d.result.Origin.Object}
	for i := range d.result.Verdicts {
		if one := &d.result.Verdicts[i]; one.Ref == ref && one.Reason == reason {
			return
		}
	}
	d.result.Degrade(ref, code, reason, missing)
}
