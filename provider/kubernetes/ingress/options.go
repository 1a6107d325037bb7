package ingress

import (
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// routerOptions are the annotations of an Ingress (router.*), which hold for all of its routers.
type routerOptions struct {
	PathMatcher   string                       `json:"pathMatcher"`
	EntryPoints   []string                     `json:"entryPoints"`
	Middlewares   []string                     `json:"middlewares"`
	Priority      int                          `json:"priority"`
	RuleSyntax    string                       `json:"ruleSyntax"`
	TLS           *dynamic.RouterTLS           `json:"tls" label:"allowEmpty"`
	Observability *dynamic.RouterObservability `json:"observability"`
}

// v2 reports whether paths are written in the language of Traefik v2.
func (o *routerOptions) v2() bool { return strings.EqualFold(o.RuleSyntax, "v2") }

// syntaxOf returns the syntax that the router of a path has to declare. Rules are made here, in v3; only a path can
// bring something of v2 with it, which the compiler then answers with the spelling of v3.
func (o *routerOptions) syntaxOf(path string) string {
	switch strings.ToLower(o.RuleSyntax) {
	case "", "default", "v3":
		return ""
	case "v2":
		if !braces(path) {
			return ""
		}
	}
	return o.RuleSyntax
}

// serviceOptions are the annotations of a Service (service.*), which hold for all Ingresses that lead to it.
type serviceOptions struct {
	ServersScheme    string          `json:"serversScheme"`
	ServersTransport string          `json:"serversTransport"`
	PassHostHeader   *bool           `json:"passHostHeader"`
	Middlewares      []string        `json:"middlewares"`
	Sticky           *dynamic.Sticky `json:"sticky" label:"allowEmpty"`
	NativeLB         *bool           `json:"nativeLB"`
	NodePortLB       bool            `json:"nodePortLB"`
}

// findings are what is wrong with the annotations of one object.
type findings struct {
	// refused cost whatever the annotations are for, ignored have no effect.
	refused, ignored []string
}

// routerOptionsOf reads the annotations of an Ingress.
func routerOptionsOf(annotations map[string]string) (*routerOptions, findings) {
	options := &routerOptions{}
	found := read(annotations, sectionRouter, sectionService, "Services", options)
	return options, found
}

// serviceOptionsOf reads the annotations of a Service.
func serviceOptionsOf(annotations map[string]string) (*serviceOptions, findings) {
	options := &serviceOptions{}
	found := read(annotations, sectionService, sectionRouter, "Ingresses", options)
	return options, found
}

// read decodes the annotations of one section. Those of the other section belong to objects of another kind.
func read(annotations map[string]string, section, other, kind string, into any) findings {
	node, others := collect(annotations, section)
	var found findings
	for _, key := range others {
		reason := "unknown annotation"
		switch option := strings.TrimPrefix(key, prefix); {
		case strings.HasPrefix(strings.ToLower(option), other+"."):
			reason = "has an effect on " + kind + " only"
		default:
			if near, ok := document.Nearest(option, known(section, into)); ok {
				reason += ", did you mean \"" + prefix + near + "\"?"
			}
		}
		found.ignored = append(found.ignored, "annotation "+key+": "+reason)
	}
	if node == nil {
		return found
	}
	for _, problem := range document.Decode(node, into) {
		reason := annotationOf(section, problem.Path) + ": " + problem.Reason
		if unknown(problem) && !protects(problem) {
			found.ignored = append(found.ignored, reason)
		} else {
			found.refused = append(found.refused, reason)
		}
	}
	return found
}

// known lists the options of a section as they are written.
func known(section string, of any) []string {
	var names []string
	for _, key := range document.Keys(of) {
		names = append(names, section+"."+strings.ToLower(key))
	}
	return names
}

// protects reports whether an unknown option was to be one that protects something: what cannot be understood there
// must not leave a route open.
func protects(problem document.Problem) bool {
	head, _, nested := strings.Cut(problem.Path, ".")
	if nested {
		return strings.EqualFold(head, "tls")
	}
	_, found := document.Nearest(head, []string{"entryPoints", "middlewares", "tls", "serversTransport"})
	return found
}
