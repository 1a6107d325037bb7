package dynamic

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// mostMisspelt is how many labels with a misspelt root are named of one container.
const mostMisspelt = 3

// misspelt returns the label that is meant by one whose root is no known one but similar, or "". What follows the root
// must be a known section.
func misspelt(written string) string {
	head, path, found := strings.Cut(written, ".")
	section, _, _ := strings.Cut(path, ".")
	if !found || !slices.Contains(labelSections, strings.ToLower(section)) {
		return ""
	}
	near, similar := document.Nearest(head, labelRoots[:])
	if !similar || strings.EqualFold(near, head) {
		return ""
	}
	return near + "." + path
}

// misspelt notes the labels with a misspelt root.
func (l *labelling) misspelt(labels map[string]string) {
	for _, written := range slices.Sorted(maps.Keys(labels)) {
		meant := misspelt(written)
		if meant == "" {
			continue
		}
		if len(l.out.Misspelt) == mostMisspelt {
			l.out.Misspelt = append(l.out.Misspelt, "more labels with a misspelt beginning have no effect")
			return
		}
		reason := fmt.Sprintf("label %s has no effect, did you mean %q?", written, meant)
		l.out.Misspelt = append(l.out.Misspelt, brief(reason))
	}
}

// LabelOfV1 returns a clause with the present spelling of a label of Traefik v1, or "" for another label. The label may
// have a segment (traefik.SEGMENT.port).
func LabelOfV1(written string) string {
	_, path, _ := strings.Cut(strings.ToLower(written), ".")
	now := v1Label(path)
	if now == "" {
		_, path, _ = strings.Cut(path, ".")
		now = v1Label(path)
	}
	if now == "" {
		return ""
	}
	return "; it is a label of Traefik v1, now spelled " + now
}

// v1Label returns what a label of Traefik v1 is now, by its name in lower case behind root and segment.
func v1Label(path string) string {
	const router, server = "traefik.http.routers.NAME.", "traefik.http.services.NAME.loadbalancer.server."
	switch path {
	case "port":
		return server + "port"
	case "protocol":
		return server + "scheme"
	case "weight":
		return server + "weight"
	case "frontend.rule":
		return router + "rule"
	case "frontend.entrypoints":
		return router + "entrypoints"
	case "frontend.priority":
		return router + "priority"
	case "backend":
		return router + "service"
	case "frontend.passhostheader":
		return "traefik.http.services.NAME.loadbalancer.passhostheader"
	}
	switch {
	case strings.HasPrefix(path, "frontend.auth."):
		return "traefik.http.middlewares.NAME.basicauth, .digestauth or .forwardauth"
	case strings.HasPrefix(path, "frontend.redirect."):
		return "traefik.http.middlewares.NAME.redirectscheme or .redirectregex"
	case strings.HasPrefix(path, "frontend.headers."):
		return "traefik.http.middlewares.NAME.headers"
	case strings.HasPrefix(path, "frontend.whitelist."):
		return "traefik.http.middlewares.NAME.ipallowlist"
	case strings.HasPrefix(path, "frontend.ratelimit."):
		return "traefik.http.middlewares.NAME.ratelimit"
	case strings.HasPrefix(path, "frontend.errors."):
		return "traefik.http.middlewares.NAME.errors"
	case strings.HasPrefix(path, "frontend."):
		return router + "..."
	case strings.HasPrefix(path, "backend.loadbalancer.") || strings.HasPrefix(path, "backend.healthcheck."):
		return "traefik.http.services.NAME.loadbalancer"
	}
	return ""
}

// serverOptions takes options of a server out of the fields of a load balancer, which do not have them, and returns
// them as a server. It reports each with its place.
func (l *labelling) serverOptions(ref Ref, node *document.Node, balancer, options any) *document.Node {
	server := &document.Node{Kind: document.Map}
	node.Fields = slices.DeleteFunc(slices.Clone(node.Fields), func(field document.Field) bool {
		has := func(of any) bool {
			return slices.ContainsFunc(document.Keys(of), func(key string) bool { return strings.EqualFold(key, field.Key) })
		}
		if has(balancer) || !has(options) {
			return false
		}
		l.quarantine(ref, CodeInvalidOption, l.reason(document.Problem{
			Line: field.Line, Path: field.Key,
			Reason: fmt.Sprintf("unknown option, did you mean %q?", "loadbalancer.server."+strings.ToLower(field.Key)),
		}))
		server.Fields = append(server.Fields, field)
		return true
	})
	if len(server.Fields) == 0 {
		return nil
	}
	return server
}
