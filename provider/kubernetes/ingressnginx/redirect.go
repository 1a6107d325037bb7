package ingressnginx

import (
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

const (
	// phaseSlash is the key of the redirect to a final slash: behind exact locations, before all others.
	phaseSlash int64 = 1
	// phaseServer is that of what a server answers before it looks for a location.
	phaseServer int64 = 3
)

// locationHeader is the header of redirects.
const locationHeader = "Location"

// scheme returns that of the requests of the routers under way.
func (d *locationDraft) scheme() string {
	if d.tls {
		return "https"
	}
	return "http"
}

// redirect answers by permanent-redirect or temporal-redirect. The default backend of a server has no redirect.
func (d *locationDraft) redirect() {
	to := &d.options.Redirect
	if to.URL == "" || d.location().Plain {
		return
	}
	if _, err := variable.ParseLive(to.URL); err != nil {
		d.refuse(dynamic.CodeInvalidOption, "the redirect to "+to.URL+": "+err.Error(), false)
		return
	}
	target := to.URL
	if strings.HasPrefix(target, "/") && !to.Relative {
		target = d.scheme() + "://$host" + target
	}
	d.answer(&dynamic.DirectResponse{
		Status: to.Code, Headers: []dynamic.HeaderValue{{Name: locationHeader, Value: target}},
	})
}

// secureRedirect redirects plain requests to https. That of the default backend of a server is left out.
func (d *locationDraft) secureRedirect() {
	rewrite, settings := &d.options.Rewrite, d.settings()
	if !rewrite.ForceSSLRedirect && (!rewrite.SSLRedirect || !d.server.Secured) || d.location().Plain ||
		d.location().exempt(settings.NoTLSRedirect) {
		return
	}
	port := ""
	if d.options.Redirect.UsePort {
		port = "443"
	}
	// Also on TLS: a trusted proxy may say that the client's request was plain.
	d.use(phaseSecure, "https", &dynamic.Middleware{RedirectScheme: &dynamic.RedirectScheme{
		Scheme: "https", Port: port, StatusCode: settings.RedirectCode, AnyPort: true,
		TrimTrailingSlash: !rewrite.PreserveTrailingSlash,
	}})
}

// slash declares the redirects to the names of locations with a final slash, for paths without it, unless there is an
// exact location for that path.
func (d *locationDraft) slash() {
	if d.server.Regex {
		return
	}
	for place := d.place; place < d.place+d.count; place++ {
		one := &d.server.Locations[place]
		path := strings.TrimSuffix(one.Name, "/")
		if path == "" || path == one.Name || !d.server.redirects(place, path) {
			continue
		}
		refused := d.refused
		d.run(ofSlash)
		if d.refused == nil {
			d.refused = refused
		}
		d.service = d.directResponse(&dynamic.DirectResponse{
			Status:  http.StatusMovedPermanently,
			Headers: []dynamic.HeaderValue{{Name: locationHeader, Value: d.slashed(one.Name)}},
		})
		for _, names := range d.hosts() {
			match := matcher("NormalizedPath", path)
			d.router(d.name+names.suffix+",slash", names.with(match), []int64{names.key, phaseSlash, int64(len(path))})
		}
	}
}

// redirects reports whether the location at a place is the one to which a path is redirected that lacks its final
// slash: no exact location has the path, and of two for the path with the slash, the exact one redirects.
func (p *serverPlan) redirects(place int, path string) bool {
	for i := range p.Locations {
		one := &p.Locations[i]
		if one.Exact && (one.Name == path || i != place && one.Name == path+"/" && !p.Locations[place].Exact) {
			return false
		}
	}
	return true
}

// slashed returns the template of the redirect to a name with a final slash. With use-port-in-redirects too, it has no
// port: that of ingress-nginx is the default one of the scheme, which nginx leaves out.
func (d *locationDraft) slashed(name string) string {
	// A dollar sign cannot be written in a template.
	target := strings.ReplaceAll(uri.Escape(name), "$", "%24") + "$is_args$args"
	if d.options.Redirect.Relative {
		return target
	}
	return d.scheme() + "://$host" + target
}

// appRoot declares the redirect from "/".
func (d *serverDraft) appRoot() {
	if d.plan.AppRoot == "" {
		return
	}
	d.redirects(approot, d.plan.hosts(), matcher("NormalizedPath", "/"), func(scheme string) *dynamic.DirectResponse {
		return &dynamic.DirectResponse{
			Status:  http.StatusFound,
			Headers: []dynamic.HeaderValue{{Name: locationHeader, Value: scheme + "://$http_host" + d.plan.AppRoot}},
		}
	})
}

// twin declares the redirect from the name with or without "www.". The port is always in its Location.
func (d *serverDraft) twin() {
	if d.plan.Twin == "" || d.plan.Host == anyHost || strings.Contains(d.plan.Twin, "*") {
		return // nginx refuses such names.
	}
	names := []hostNames{{
		key: hostKind(d.plan.Twin) * lengthOfName, any: []dynamic.Match{matcher("Host", d.plan.Twin)},
	}}
	every := matcher("NormalizedPathPrefix", "/")
	d.redirects(www, names, every, func(scheme string) *dynamic.DirectResponse {
		port := map[string]string{"http": "80", "https": "443"}[scheme]
		return &dynamic.DirectResponse{
			Status: d.provider.settings.RedirectCode, TrimTrailingSlash: true,
			Headers: []dynamic.HeaderValue{{
				Name: locationHeader, Value: scheme + "://" + d.plan.Host + ":" + port + "$request_uri",
			}},
		}
	})
}

// The kinds of redirects of the server itself.
const (
	approot = "approot"
	www     = "www"
)

// redirects declares routers of the server itself.
func (d *serverDraft) redirects(
	kind string, names []hostNames, match dynamic.Match, response func(scheme string) *dynamic.DirectResponse,
) {
	for _, tls := range []bool{false, true} {
		draft := &locationDraft{
			provider: d.provider, options: d.options, server: d.plan, result: d.result, tls: tls,
			name: nameOfServer(d.plan.Host) + "," + kind, twin: kind == www,
		}
		if !draft.twin {
			draft.run(ofServer)
		}
		made := response(draft.scheme())
		if _, err := variable.ParseLive(made.Headers[0].Value); err != nil {
			draft.refuse(dynamic.CodeInvalidOption, made.Headers[0].Value+": "+err.Error(), false)
		}
		draft.service = draft.directResponse(made)
		if tls && kind != www && d.provider.passes(d.plan) {
			names = names[1:] // The host itself comes first.
		}
		for _, one := range names {
			draft.router(draft.name+one.suffix, one.with(match), []int64{one.key, phaseServer})
		}
	}
}
