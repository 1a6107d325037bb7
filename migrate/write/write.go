// Package write writes the objects that take the place of Ingresses: IngressRoutes, or routes of the Gateway API where
// those can express the same. They come from the configuration that the provider kubernetesIngressNGINX makes of the
// Ingresses. Objects have the group sluice.dev: the definitions of traefik.io lack options that are needed, and an API
// server drops what a definition lacks.
package write

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Format says what is written.
type Format string

// The formats.
const (
	// IngressRoute writes IngressRoutes and what belongs to them (sluice.dev/v1alpha1).
	IngressRoute Format = "ingressroute"
	// Gateway writes HTTPRoutes (gateway.networking.k8s.io/v1) for the hosts that they can express, and IngressRoutes for
	// the other ones. What belongs to HTTPRoutes are objects of sluice.dev/v1alpha1, too.
	Gateway Format = "gateway"
)

// Formats returns all formats.
func Formats() []Format { return []Format{IngressRoute, Gateway} }

// The group of the objects, and the names of those that every namespace may have.
const (
	apiVersion = "sluice.dev/v1alpha1"
	closed     = "nginx-closed"
)

// Write writes the objects as YAML, in an order that depends on nothing but the configuration. Left says what is not
// written as it is in the configuration, a sentence each.
//
// A route that cannot be written as it is, such as one whose middleware is quarantined, is written with an answer of
// 503 in place of its service: without it another route would get its requests. Users and authorities of certificates
// are written as Secrets; private keys never are.
func Write(out io.Writer, configuration *dynamic.Configuration, format Format) (left []string, err error) {
	return write(out, configuration, format, true)
}

// WithoutSecrets writes the objects without Secrets, for a configuration in which their values are made up. Left
// names them; routes that need one answer 503 until it exists.
func WithoutSecrets(out io.Writer, configuration *dynamic.Configuration, format Format) (left []string, err error) {
	return write(out, configuration, format, false)
}

func write(
	out io.Writer, configuration *dynamic.Configuration, format Format, secrets bool,
) (left []string, err error) {
	if !slices.Contains(Formats(), format) {
		return nil, fmt.Errorf("the format %q is not known", format)
	}
	w := &writer{
		configuration: configuration, format: format, secrets: secrets, objects: map[key]*object{},
		middlewares: map[key]string{}, services: map[key]written{}, children: map[portOf]children{},
	}
	w.verdicts()
	w.http()
	w.rest()
	return w.left, w.print(out)
}

// key is an object of Kubernetes.
type key struct{ kind, namespace, name string }

// object is an object that is written.
type object struct {
	apiVersion string
	spec       map[string]any
	// data is stringData, for Secrets.
	data     map[string]string
	comments []string
}

// written is what became of an object of the configuration: a reference to it, or why there is none.
type written struct {
	spec   map[string]any
	reason string
}

// writer writes one configuration.
type writer struct {
	configuration *dynamic.Configuration
	format        Format
	// secrets says that Secrets are written.
	secrets bool
	objects map[key]*object
	left    []string
	// quarantined says why an object of the configuration is not applied.
	quarantined map[dynamic.Ref]string
	// middlewares and services are what is written already: why it cannot be, and references.
	middlewares map[key]string
	services    map[key]written
	children    map[portOf]children
}

// leave notes what is not written as it is.
func (w *writer) leave(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if !slices.Contains(w.left, text) {
		w.left = append(w.left, text)
	}
}

// verdicts reads which objects are not applied.
func (w *writer) verdicts() {
	w.quarantined = map[dynamic.Ref]string{}
	for i := range w.configuration.Verdicts {
		verdict := &w.configuration.Verdicts[i]
		ref := dynamic.Ref{Kind: verdict.Ref.Kind, Name: plain(verdict.Ref.Name)}
		if verdict.Status >= dynamic.Retained && w.quarantined[ref] == "" {
			w.quarantined[ref] = cmp.Or(verdict.Reason, "it is quarantined")
		}
	}
}

// put adds an object, and returns the one that is there.
func (w *writer) put(kind, namespace, name string, spec map[string]any) *object {
	at := key{kind, namespace, name}
	if w.objects[at] == nil {
		w.objects[at] = &object{apiVersion: apiVersion, spec: spec}
	}
	return w.objects[at]
}

// rest notes what has no place among the objects.
func (w *writer) rest() {
	if tcp := w.configuration.TCP; tcp != nil {
		for _, name := range slices.Sorted(tcp.Routers.Keys()) {
			w.leave("router %s passes TLS through: it needs an IngressRouteTCP", plain(name))
		}
	}
	tls := w.configuration.TLS
	if tls == nil {
		return
	}
	if tls.Options.Get(dynamic.DefaultTLSName) != nil {
		w.leave("the TLS options for all hosts need a TLSOption with the name default")
	}
	if tls.Stores.Len() > 0 {
		w.leave("the default certificate needs a TLSStore with the name default")
	}
}

// print writes the objects: those that others refer to first.
func (w *writer) print(out io.Writer) error {
	kinds := []string{
		"Secret", "TLSOption", "ServersTransport", "Middleware", "TraefikService", "IngressRoute", "Gateway", "HTTPRoute",
	}
	keys := make([]key, 0, len(w.objects))
	for at := range w.objects {
		keys = append(keys, at)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a.kind), slices.Index(kinds, b.kind)),
			strings.Compare(a.namespace, b.namespace), strings.Compare(a.name, b.name),
		)
	})
	if err := w.head(out); err != nil {
		return err
	}
	for _, at := range keys {
		if err := w.objects[at].print(out, at); err != nil {
			return err
		}
	}
	return nil
}

// head writes what is not written, as comments.
func (w *writer) head(out io.Writer) error {
	var text strings.Builder
	if len(w.left) > 0 {
		text.WriteString("# Not written as it is:\n")
		for _, line := range w.left {
			text.WriteString(comment("- " + line))
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// comment returns a text as comments of YAML.
func comment(text string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
				return ' '
			}
			return r
		}, line)
		out.WriteString("# " + line + "\n")
	}
	return out.String()
}

func (o *object) print(out io.Writer, at key) error {
	manifest := map[string]any{
		"apiVersion": o.apiVersion, "kind": at.kind,
		"metadata": map[string]any{"namespace": at.namespace, "name": at.name},
	}
	if o.data != nil {
		manifest["stringData"] = o.data
	} else {
		manifest["spec"] = o.spec
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return err
	}
	head := "---\n"
	for _, line := range o.comments {
		head += comment(line)
	}
	_, err = io.WriteString(out, head+string(text))
	return err
}
