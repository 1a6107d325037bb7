package ingressnginx

import (
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// mirror sends a copy of each request. Copies are those of the request as it came: what edits it for the endpoints is
// moved behind the mirroring.
func (d *locationDraft) mirror() {
	mirror := d.options.Mirror
	if mirror == nil || d.reference.Balancer == nil {
		return
	}
	to, problem := d.mirrorTarget()
	if problem != "" {
		d.degrade(dynamic.CodeInvalidOption, "mirror-target: "+problem+"; no copies are sent", false)
		return
	}
	edits := slices.Concat(d.middlewares[phaseRequest], d.middlewares[phaseRewrite])
	d.middlewares[phaseRequest], d.middlewares[phaseRewrite] = nil, nil
	made := &dynamic.Mirroring{}
	made.SetDefaults()
	body := mirror.RequestBody
	made.Service, made.MirrorBody = d.wrapped(d.service, edits...), &body
	made.Mirrors = []dynamic.MirrorService{{Name: to, Percent: 100}}
	d.service = d.declare("mirroring", &dynamic.Service{Mirroring: made})
}

// mirrorTarget declares the service that gets copies. A problem says why there is none.
func (d *locationDraft) mirrorTarget() (service, problem string) {
	mirror := d.options.Mirror
	scheme, rest, _ := strings.Cut(mirror.Target, "://")
	authority, path := rest, ""
	if at := strings.IndexAny(rest, "/$"); at >= 0 {
		authority, path = rest[:at], rest[at:]
	}
	parsed, err := url.Parse(scheme + "://" + authority)
	host, hostErr := d.text(mirror.Host, false)
	switch {
	case strings.HasPrefix(path, "$") && !strings.HasPrefix(path, "$request_uri") && !strings.HasPrefix(path, "$uri"):
		return "", "its host or port has variables, and one service cannot have many addresses"
	case scheme != "http" && scheme != "https" || err != nil || parsed.Host == "" || parsed.User != nil:
		return "", "it begins with no URL of http or https"
	case hostErr != nil:
		return "", "mirror-host: " + hostErr.Error()
	case host == "":
		return "", "mirror-host is empty"
	}
	rewrite, problem := d.mirrorPath(path)
	if problem != "" {
		return "", problem
	}
	middlewares := []string{d.define("mirrorhost", &dynamic.Middleware{ProxySetHeader: &dynamic.ProxySetHeader{
		Headers: []dynamic.HeaderValue{{Name: "Host", Value: host}},
	}})}
	if rewrite != nil {
		middlewares = append(middlewares, d.define("mirrorpath", &dynamic.Middleware{RegexRewrite: rewrite}))
	}
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	server := dynamic.Server{}
	server.SetDefaults()
	server.URL = scheme + "://" + parsed.Host
	balancer.Servers = []dynamic.Server{server}
	balancer.ServersTransport = d.transport(scheme, false)
	return d.declare("mirror", &dynamic.Service{LoadBalancer: balancer, Middlewares: middlewares}), ""
}

// mirrorPath returns what makes the path of a copy of that of the request; nil for none.
func (d *locationDraft) mirrorPath(path string) (rewrite *dynamic.RegexRewrite, problem string) {
	const every = "^"
	switch path {
	case "$request_uri", "/$request_uri", "$uri$is_args$args":
		return nil, ""
	case "":
		// The directive mirror has a location of its own, whose path the copy has then.
		plain := strings.Map(func(r rune) rune {
			if isAlphanumeric(r) || r == '-' || r == '.' {
				return r
			}
			return -1
		}, string(d.ingress.UID))
		return &dynamic.RegexRewrite{Regex: every, Replacement: "/_mirror-" + plain}, ""
	}
	text, err := d.text(path, false)
	switch {
	case err != nil:
		return nil, err.Error()
	case strings.ContainsAny(text, "?") || strings.Contains(text, "request_uri") || strings.Contains(text, "args"):
		return nil, "of queries, $request_uri alone is supported behind the host"
	case strings.Contains(text, "$"):
		return &dynamic.RegexRewrite{Regex: every, Replacement: text + "?"}, ""
	}
	return &dynamic.RegexRewrite{Regex: every, Replacement: text}, ""
}
