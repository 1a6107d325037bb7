package dynamic

import (
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/immutable"
)

// Configuration is the whole declared state of one provider, or the merged state of all of them.
// Map keys are object names: as declared in a provider's message, qualified (name@provider) after the merge.
type Configuration struct {
	HTTP *HTTPConfiguration `json:"http,omitempty"`
	TCP  *TCPConfiguration  `json:"tcp,omitempty"`
	UDP  *UDPConfiguration  `json:"udp,omitempty"`
	TLS  *TLSConfiguration  `json:"tls,omitempty"`
	// Listeners are entrypoints of providers. Providers alone set them.
	Listeners *ListenersConfiguration `json:"-" label:"-"`

	// Origins maps each object to its declaration. It is separate from the objects, so that an object that only moved
	// within its file keeps its pointer. It is empty in the merged configuration, whose verdicts have origins.
	Origins immutable.Map[Ref, Origin] `json:"-"`
	// Verdicts are the provider's own findings: files that could not be read, objects that could not be translated.
	// An object with a Quarantined verdict here stays in its map as far as it was understood, so that a router can keep
	// its place and answer 503; nothing that depends on it is applied.
	Verdicts []Verdict `json:"-"`
}

// Sections returns the names of the root sections of a document of the dynamic configuration.
func Sections() []string { return document.Keys(Configuration{}) }

// SectionPath returns where a section is in a document of the dynamic configuration: http.routers for routers, and the
// first of several places. It is empty for a name that no section has; case does not count.
func SectionPath(name string) string {
	configuration := reflect.TypeFor[Configuration]()
	for i, section := range Sections() {
		if strings.EqualFold(section, name) {
			return section
		}
		for _, key := range document.Keys(reflect.New(configuration.Field(i).Type.Elem()).Interface()) {
			if strings.EqualFold(key, name) {
				return section + "." + key
			}
		}
	}
	return ""
}

// Objects are the objects of one kind by their names. An object that declares nothing is nil.
type Objects[T any] = immutable.Map[string, *T]

// HTTPConfiguration holds the objects of the section http.
type HTTPConfiguration struct {
	Routers           Objects[Router]           `json:"routers,omitzero"`
	Services          Objects[Service]          `json:"services,omitzero"`
	Middlewares       Objects[Middleware]       `json:"middlewares,omitzero"`
	ServersTransports Objects[ServersTransport] `json:"serversTransports,omitzero"`
}

// TCPConfiguration holds the objects of the section tcp.
type TCPConfiguration struct {
	Routers           Objects[TCPRouter]           `json:"routers,omitzero"`
	Services          Objects[TCPService]          `json:"services,omitzero"`
	Middlewares       Objects[TCPMiddleware]       `json:"middlewares,omitzero"`
	ServersTransports Objects[TCPServersTransport] `json:"serversTransports,omitzero"`
}

// UDPConfiguration holds the objects of the section udp.
type UDPConfiguration struct {
	Routers  Objects[UDPRouter]  `json:"routers,omitzero"`
	Services Objects[UDPService] `json:"services,omitzero"`
}

// Kind names a kind of dynamic object in references, findings and verdicts.
type Kind string

// The kinds of dynamic objects.
const (
	KindRouter           Kind = "router"
	KindService          Kind = "service"
	KindMiddleware       Kind = "middleware"
	KindServersTransport Kind = "serversTransport"
	KindTLSOptions       Kind = "tlsOptions"
	KindTLSStore         Kind = "tlsStore"
	KindCertificate      Kind = "certificate"

	KindTCPRouter           Kind = "tcpRouter"
	KindTCPService          Kind = "tcpService"
	KindTCPMiddleware       Kind = "tcpMiddleware"
	KindTCPServersTransport Kind = "tcpServersTransport"
	KindUDPRouter           Kind = "udpRouter"
	KindUDPService          Kind = "udpService"

	KindListener Kind = "listener"

	// KindSource is the source itself: a file, a directory, a connection to an API.
	KindSource Kind = "source"
)

// Ref identifies one object. Name is qualified (name@provider) everywhere but inside a provider's own message.
type Ref struct {
	Kind Kind
	Name string
}

// IsGlobal reports whether the object, by its provider's name, applies to all providers and namespaces: the default TLS
// options and the default store.
func (r Ref) IsGlobal() bool {
	return r.Name == DefaultTLSName && (r.Kind == KindTLSOptions || r.Kind == KindTLSStore)
}

// String returns the reference as it is printed in findings: `router "a@file"`.
func (r Ref) String() string { return string(r.Kind) + " \"" + r.Name + "\"" }
