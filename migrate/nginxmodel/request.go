package nginxmodel

import (
	"cmp"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/nginx/uri"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// request is a probe as nginx has read it.
type request struct {
	probe.Probe
	model *Model
	// target is as it was sent; path is decoded and normalised, query has no question mark. Both are those of
	// the rewrites, where rewritten says that there were some. Settled says that no further one follows.
	target, path, query string
	rewritten, settled  bool
	// host is in lower case without port.
	host   string
	client netip.Addr
	// scheme, port and authority are those of the client's request, as trusted proxies report it; listened is the port of
	// the flags.
	scheme, port, authority, listened string
	server                            *server
	place                             *place
	values                            variable.Request
	out                               answer.Answer
}

// read reads a probe. It reports false for one that nginx refuses with 400.
func (m *Model) read(p probe.Probe) (*request, bool) {
	q := &request{Probe: p, model: m, target: p.Target, out: answer.Answer{Header: http.Header{}}}
	q.client, _ = netip.ParseAddr(cmp.Or(p.Client, probe.DefaultClient))
	var valid bool
	q.path, valid = uri.Normalize(p.Target)
	_, q.query, _ = strings.Cut(strings.SplitN(p.Target, "#", 2)[0], "?")
	q.host, q.port = strings.ToLower(p.Host), m.config.HTTPPort
	q.listened = q.port
	if bracket := strings.LastIndexByte(q.host, ']'); bracket >= 0 {
		q.host = q.host[:bracket+1]
	} else {
		q.host, _, _ = strings.Cut(q.host, ":")
	}
	q.host = strings.TrimSuffix(q.host, ".")
	if p.Scheme == "https" {
		q.port, q.listened = "443", m.config.HTTPSPort
	}
	q.scheme, q.authority = p.Scheme, p.Host
	q.server = m.serverOf(q.host)
	q.values = variable.Request{
		Scheme: p.Scheme, Host: cmp.Or(q.host, q.server.name), HTTPHost: p.Host, Target: p.Target, URI: q.path,
		Query: q.query, Method: p.Method, RemoteAddr: q.client.String(), ServerPort: q.listened, Header: p.Header,
	}
	q.trust()
	return q, valid && p.Host != ""
}

// trust takes over what a proxy in front reports, where use-forwarded-headers says so.
func (q *request) trust() {
	forwarded := q.model.values["use-forwarded-headers"] == "true"
	if forwarded || q.model.values["enable-real-ip"] == "true" {
		q.realAddress()
	}
	if !forwarded {
		return
	}
	if port := q.Header.Get("X-Forwarded-Port"); port != "" {
		q.listened = port
	}
	q.scheme = cmp.Or(q.Header.Get("X-Forwarded-Proto"), q.scheme)
	q.port = cmp.Or(q.Header.Get("X-Forwarded-Port"), q.port)
	if host, _, _ := strings.Cut(q.Header.Get("X-Forwarded-Host"), ","); host != "" {
		q.authority = host
	}
}

// realAddress finds the address of the client in the header of proxies that are trusted: the last one that is not.
func (q *request) realAddress() {
	trusted := strings.FieldsFunc(cmp.Or(q.model.values["proxy-real-ip-cidr"], "0.0.0.0/0"), func(r rune) bool {
		return r == ',' || r == ' '
	})
	name := cmp.Or(q.model.values["forwarded-for-header"], "X-Forwarded-For")
	hops := strings.Split(q.Header.Get(name), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		address, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil || !contains(trusted, q.client) && i < len(hops)-1 {
			break
		}
		q.client = address
	}
	q.values.RemoteAddr = q.client.String()
}

// text returns a text with the values of the request; one that nginx cannot read stays as it is.
func (q *request) text(of string) string {
	template, err := variable.Parse(of)
	if err != nil {
		return of
	}
	return string(template.Append(nil, &q.values))
}

// absolute returns a Location that nginx completes, unless it is to stay relative.
func (q *request) absolute(location string) string {
	if !strings.HasPrefix(location, "/") || q.place.options.Redirect.Relative {
		return location
	}
	return q.Scheme + "://" + q.values.Host + location
}

// configured reports whether a certificate is configured for the host: by a TLS section of an Ingress that has it, or
// its wildcard.
func (q *request) configured() bool {
	if one := q.model.names[q.host]; one != nil && one.tls {
		return true
	}
	_, rest, divided := strings.Cut(q.host, ".")
	if !divided {
		return false
	}
	one := q.model.names["*."+rest]
	return one != nil && one.tls
}

// finish completes the answer.
func (q *request) finish(status int, step answer.Step) answer.Answer {
	q.out.Status, q.out.Step = status, step
	if q.place != nil && q.out.Ingress == "" {
		q.out.Ingress = q.place.key()
	}
	return q.out
}
