package nginxmodel

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// Answer implements [answer.Answerer]. It never fails.
func (m *Model) Answer(_ context.Context, p probe.Probe) (answer.Answer, error) {
	if out, passed := m.passthrough(p); passed {
		return out, nil
	}
	q, valid := m.read(p)
	if !valid {
		return q.finish(http.StatusBadRequest, answer.Parse), nil
	}
	if to := m.twins[q.host]; to != nil {
		return q.twin(to), nil
	}
	for _, phase := range []func() (answer.Answer, bool){
		q.certificate, q.rewriteServer, q.find, q.rewriteLocation, q.redirectToHTTPS, q.access,
	} {
		if out, done := phase(); done {
			return out, nil
		}
	}
	return q.forward(), nil
}

// twin redirects to the name with or without "www.".
func (q *request) twin(to *server) answer.Answer {
	q.out.Ingress = to.www.Key()
	q.out.Header.Set("Location", q.scheme+"://"+to.name+":"+q.listened+strings.TrimSuffix(q.target, "/"))
	return q.finish(q.model.settings.RedirectCode, answer.ServerStep)
}

// certificate refuses requests without the certificate of a client. auth-tls-match-cn does so without TLS too.
func (q *request) certificate() (out answer.Answer, done bool) {
	client := q.server.clientTLS
	switch {
	case client == nil:
		return out, false
	case client.Denied != "":
		q.out.Ingress = q.server.clientOwner.Key()
		return q.finish(http.StatusForbidden, answer.ClientTLS), true
	case q.Scheme != "https" || client.Mode != "on":
		if client.MatchCN == "" {
			return out, false
		}
		q.out.Ingress = q.server.clientOwner.Key()
		return q.finish(http.StatusForbidden, answer.ClientTLS), true
	}
	q.out.Ingress = q.server.clientOwner.Key()
	if page := client.ErrorPage; page != "" && !strings.HasPrefix(page, "@") {
		if strings.HasPrefix(page, "/") {
			page = q.Scheme + "://" + q.values.Host + page
		}
		q.out.Header.Set("Location", page)
		return q.finish(http.StatusFound, answer.ClientTLS), true
	}
	return q.finish(http.StatusBadRequest, answer.ClientTLS), true
}

// rewriteServer answers what the host answers for all of its locations.
func (q *request) rewriteServer() (out answer.Answer, done bool) {
	settings := q.model.settings
	if listed(settings.BlockUserAgents, q.Header.Get("User-Agent")) || listed(settings.BlockReferers,
		q.Header.Get("Referer")) {
		return q.finish(http.StatusForbidden, answer.ServerStep), true
	}
	if q.path != "/" || len(q.server.appRoots) == 0 {
		return out, false
	}
	root := q.server.appRoots[0]
	for _, one := range q.server.places {
		if one.options.Rewrite.AppRoot == root {
			q.place = one
			break
		}
	}
	q.out.Header.Set("Location", q.Scheme+"://"+q.Probe.Host+q.text(root))
	return q.finish(http.StatusFound, answer.ServerStep), true
}

// defaultBody is nginx's limit of bodies in locations that set none, in bytes.
const defaultBody = 1 << 20

// find selects the location, and compares the declared length of the body with its limit.
func (q *request) find() (out answer.Answer, done bool) {
	choice := q.server.choice.Choose(q.path)
	if choice.Location == nil {
		return q.finish(http.StatusNotFound, answer.ServerStep), true
	}
	q.place = q.server.chosen[choice.Location]
	q.values.Objects = q.place.objects()
	q.secureHeader()
	limit := q.place.options.Proxy.BodySize
	if q.place.denied != "" {
		limit = defaultBody
	}
	if limit > 0 && q.Length > limit {
		return q.refuse(http.StatusRequestEntityTooLarge, answer.BodySize), true
	}
	if choice.Redirect == "" {
		return out, false
	}
	target := choice.Redirect
	if q.query != "" {
		target += "?" + q.query
	}
	q.out.Header.Set("Location", q.absolute(target))
	return q.finish(http.StatusMovedPermanently, answer.Slash), true
}

// objects are the names that variables have in a location.
func (p *place) objects() map[string]string {
	names := map[string]string{}
	if p.owner != nil {
		names["namespace"], names["ingress_name"] = p.owner.Namespace, p.owner.Name
	}
	if p.backend != nil {
		names["service_name"], names["service_port"] = p.backend.service, p.backend.port
	}
	return names
}

// rewriteLocation answers preflights and what locations answer themselves, in the order of the directives in them.
func (q *request) rewriteLocation() (out answer.Answer, done bool) {
	options := q.place.options
	if q.place.denied != "" {
		q.out.Notes = append(q.out.Notes, q.place.denied)
		return q.finish(http.StatusServiceUnavailable, answer.Denied), true
	}
	if q.crossOrigin() && q.Method == http.MethodOptions {
		q.out.Header.Set("Content-Type", "text/plain charset=UTF-8")
		return q.finish(http.StatusNoContent, answer.Preflight), true
	}
	if out, done := q.runSnippet(); done || q.settled {
		return out, done
	}
	if options.Redirect.URL != "" {
		q.out.Header.Set("Location", q.absolute(q.text(options.Redirect.URL)))
		return q.refuse(options.Redirect.Code, answer.Return), true
	}
	if rewrite := q.place.rewrite; rewrite != nil && rewrite.redirects && q.place.backend != nil {
		if target, found := rewrite.url(q); found {
			q.out.Header.Set("Location", target)
			return q.finish(http.StatusFound, answer.Return), true
		}
	}
	return out, false
}

// redirectToHTTPS answers requests without TLS.
func (q *request) redirectToHTTPS() (out answer.Answer, done bool) {
	settings, options := q.model.settings, q.place.options
	wanted := options.Rewrite.ForceSSLRedirect || options.Rewrite.SSLRedirect && q.configured()
	if q.scheme != "http" || !wanted || begins(settings.NoTLSRedirect, q.place.path) {
		return out, false
	}
	host, _, _ := strings.Cut(q.authority, ":")
	if options.Redirect.UsePort {
		host += ":" + q.model.config.HTTPSPort
	}
	location := "https://" + host + q.target
	if !options.Rewrite.PreserveTrailingSlash {
		location = strings.TrimSuffix(location, "/")
	}
	q.out.Header.Set("Location", location)
	return q.finish(settings.RedirectCode, answer.HTTPS), true
}

// refuse answers with a status, or with the page that is declared for it. Locations that are denied declare none.
func (q *request) refuse(status int, step answer.Step) answer.Answer {
	if q.place.denied != "" || !slices.Contains(q.place.options.Errors.Statuses, status) {
		return q.finish(status, step)
	}
	return q.errorPage(status, step)
}

// secureHeader sets Strict-Transport-Security.
func (q *request) secureHeader() {
	hsts := q.model.settings.HSTS
	if q.Scheme == "https" && hsts.Enabled {
		q.out.Header.Set("Strict-Transport-Security", hstsValue(hsts))
	}
}

// begins reports whether a path begins with one of some others.
func begins(list []string, path string) bool {
	return slices.ContainsFunc(list, func(start string) bool { return strings.HasPrefix(path, start) })
}
