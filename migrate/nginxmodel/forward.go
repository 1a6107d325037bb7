package nginxmodel

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// forward sends the request to an endpoint.
func (q *request) forward() answer.Answer {
	to := q.place.backend
	for _, headers := range []map[string]string{q.model.added, q.place.headers} {
		for name, value := range headers {
			q.out.Header.Set(name, value)
		}
	}
	if to == nil {
		return q.builtin(answer.Default)
	}
	sent := q.sent()
	if !to.ready {
		stand := q.place.standIn
		if stand == nil {
			return q.refuse(http.StatusServiceUnavailable, answer.NoEndpoint)
		}
		q.errorHeaders(sent.Header, http.StatusServiceUnavailable)
		sent.Service = stand.name()
		return q.sentTo(sent, answer.Default)
	}
	sent.Service = to.name()
	q.canary(sent, to)
	if q.place.implied {
		return q.sentTo(sent, answer.Default)
	}
	return q.sentTo(sent, answer.Forward)
}

func (q *request) sentTo(sent *answer.Upstream, step answer.Step) answer.Answer {
	q.out.Upstream = sent
	q.affinity()
	return q.finish(http.StatusOK, step)
}

// builtin is the answer of the controller's own default backend.
func (q *request) builtin(step answer.Step) answer.Answer {
	return q.finish(http.StatusNotFound, step)
}

// errorPage sends a request for the page of an error to the default backend.
func (q *request) errorPage(status int, step answer.Step) answer.Answer {
	to := q.model.fallback
	if stand := q.place.standIn; stand != nil {
		to = stand
	}
	if to == nil {
		return q.builtin(step)
	}
	target := "/"
	if q.query != "" {
		target += "?" + q.query
	}
	sent := &answer.Upstream{
		Service: to.name(), Method: q.Method, Target: target, Host: q.authority, Header: q.Header.Clone(),
	}
	if sent.Header == nil {
		sent.Header = http.Header{}
	}
	q.errorHeaders(sent.Header, status)
	sent.Header.Set("X-Forwarded-For", q.client.String())
	q.out.Upstream = sent
	return q.finish(http.StatusOK, step)
}

// errorHeaders sets what the default backend is told of an error.
func (q *request) errorHeaders(header http.Header, status int) {
	header.Set("X-Code", strconv.Itoa(status))
	header.Set("X-Original-Uri", q.target)
	for name, object := range map[string]string{
		"X-Namespace": "namespace", "X-Ingress-Name": "ingress_name", "X-Service-Name": "service_name",
		"X-Service-Port": "service_port",
	} {
		if value := q.values.Objects[object]; value != "" {
			header.Set(name, value)
		}
	}
	if accept := q.Header.Get("Accept"); accept != "" {
		header.Set("X-Format", accept)
	}
}

// sent returns the request that an endpoint receives, without its Service.
func (q *request) sent() *answer.Upstream {
	options := q.place.options
	sent := &answer.Upstream{Method: q.Method, Target: q.target, Host: q.authority, Header: http.Header{}}
	underscores := q.model.values["enable-underscores-in-headers"] == "true"
	for name, values := range q.Header {
		if underscores || !strings.Contains(name, "_") {
			sent.Header[name] = slices.Clone(values)
		}
	}
	if rewrite := q.place.rewrite; rewrite != nil {
		if !rewrite.redirects && !q.settled {
			rewrite.apply(q)
		}
		if prefix := expand(rewrite.prefix, q, nil); prefix != "" {
			sent.Header.Set("X-Forwarded-Prefix", prefix)
		}
	}
	if q.rewritten {
		sent.Target = uri.Escape(q.path)
		if q.query != "" {
			sent.Target += "?" + q.query
		}
	}
	if options.Backend.Host != "" {
		sent.Host = q.text(options.Backend.Host)
	}
	q.forwardedHeaders(sent.Header)
	if options.Auth != nil && !begins(q.model.settings.NoAuth, q.place.path) {
		sent.Header.Del("Authorization")
	}
	if auth := q.subrequest(); auth != nil { // They are those of its answer, which is not known.
		for _, name := range auth.ResponseHeaders {
			sent.Header.Del(name)
		}
	}
	if q.server.clientTLS != nil && q.Scheme == "https" {
		sent.Header.Set("Ssl-Client-Verify", "NONE")
	}
	for name, value := range q.model.sent {
		sent.Header.Set(name, q.text(value))
	}
	return sent
}

// forwardedHeaders sets what endpoints are told of the client.
func (q *request) forwardedHeaders(header http.Header) {
	original := q.Header.Get("X-Forwarded-For")
	header.Del("Proxy")
	header.Del("X-Original-Forwarded-For")
	header.Del("X-Original-Forwarded-Host")
	chain := q.client.String()
	if q.model.values["use-forwarded-headers"] == "true" && q.model.values["compute-full-forwarded-for"] == "true" &&
		original != "" {
		chain = original + ", " + cmp.Or(q.Probe.Client, probe.DefaultClient)
	}
	for name, value := range map[string]string{
		"X-Real-Ip": q.client.String(), "X-Forwarded-For": chain, "X-Forwarded-Host": q.authority,
		"X-Forwarded-Port": q.port, "X-Forwarded-Proto": q.scheme, "X-Forwarded-Scheme": q.scheme, "X-Scheme": q.scheme,
	} {
		header.Set(name, value)
	}
	if original != "" {
		header.Set("X-Original-Forwarded-For", original)
	}
	if host := q.Header.Get("X-Forwarded-Host"); host != "" {
		header.Set("X-Original-Forwarded-Host", host)
	}
	if q.model.settings.AddOriginalURI {
		header.Set("X-Original-Uri", q.target)
	}
}

// canary chooses between a Service and its canary: by the header, then by the cookie, then by chance.
func (q *request) canary(sent *answer.Upstream, main *backend) {
	to := main.canary
	if to == nil || to.policy == nil {
		return
	}
	decided, is := to.policy.decide(q)
	switch {
	case decided && is:
		sent.Service = to.name()
	case decided:
	case to.policy.Weight >= to.policy.WeightTotal:
		sent.Service = to.name()
	case to.policy.Weight > 0:
		sent.Others = []string{to.name()}
	}
}

// decide reports whether header or cookie decide, and whether for the canary.
func (c *canaryPolicy) decide(q *request) (decided, canary bool) {
	if c.Header != "" {
		value := q.values.Value(variable.Variable{Kind: variable.Header, Name: http.CanonicalHeaderKey(c.Header)})
		switch {
		case value == "":
		case c.HeaderValue != "":
			if value == c.HeaderValue {
				return true, true
			}
		case c.broken:
			return true, false
		case c.HeaderPattern != "":
			if c.pattern != nil && c.pattern.Match(value) {
				return true, true
			}
		case value == "always":
			return true, true
		case value == "never":
			return true, false
		}
	}
	if c.Cookie != "" {
		switch variable.CookieOf(q.Header["Cookie"], c.Cookie) {
		case "always":
			return true, true
		case "never":
			return true, false
		}
	}
	return false, false
}

// affinity sets the cookie of sessions.
func (q *request) affinity() {
	if q.place.owner == nil || q.out.Upstream == nil || q.place.backend == nil {
		return
	}
	if q.place.options.Affinity.Cookie == nil || q.place.backend.sticky == nil {
		return
	}
	cookie := q.place.backend.sticky.options.Affinity.Cookie
	if variable.CookieOf(q.Header["Cookie"], cookie.Name) != "" {
		return
	}
	out := http.Cookie{
		Name: cookie.Name, Value: "0", Path: cookie.Path, Domain: cookie.Domain, HttpOnly: true,
		Secure: cookie.Secure || q.Scheme == "https",
	}
	if out.Path == "" {
		out.Path = q.place.asked
	}
	if cookie.MaxAge != nil {
		out.MaxAge = *cookie.MaxAge
	}
	text := out.String()
	if cookie.Expires != nil {
		text += "; Expires=Thu, 01 Jan 2037 00:00:00 GMT"
	}
	if cookie.SameSite != "" {
		text += "; SameSite=" + cookie.SameSite
	}
	q.out.Header.Add("Set-Cookie", text)
}
