// Package assembly puts configurations together object by object.
//
// It holds the one table of the kinds of objects that a dynamic.Configuration keeps in maps by name (all but
// certificates, which are a list), and a Builder that copies on write. Providers build their configurations with it,
// and the pipeline merges those of all providers with it.
package assembly

import (
	"iter"
	"maps"
	"reflect"
	"slices"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Kind reads the objects of one kind. An object travels as its pointer, for example *dynamic.Router.
type Kind interface {
	// Name returns the kind as it is called in references.
	Name() dynamic.Kind
	// Get returns the object of a name; nil when there is none.
	Get(c *dynamic.Configuration, name string) any
	// All yields every object with its name, in no order. An object that declares nothing is nil.
	All(c *dynamic.Configuration) iter.Seq2[string, any]
	// Same reports whether two configurations share the map of this kind, so that none of its objects differs.
	Same(a, b *dynamic.Configuration) bool

	put(c *dynamic.Configuration, name string, object any)
	remove(c *dynamic.Configuration, name string)
	clone(c *dynamic.Configuration)
}

// Kinds returns the table of the kinds, in the order of the sections of a configuration. It must not be changed.
func Kinds() []Kind { return kinds }

// Get returns the object of a reference; nil when there is none. It does not find certificates.
func Get(c *dynamic.Configuration, ref dynamic.Ref) any {
	if kind := kindOf(ref.Kind); kind != nil {
		return kind.Get(c, ref.Name)
	}
	return nil
}

// Objects yields every object but certificates with its reference, in no order. An object that declares nothing is nil.
func Objects(c *dynamic.Configuration) iter.Seq2[dynamic.Ref, any] {
	return func(yield func(dynamic.Ref, any) bool) {
		for _, kind := range kinds {
			for name, object := range kind.All(c) {
				if !yield(dynamic.Ref{Kind: kind.Name(), Name: name}, object) {
					return
				}
			}
		}
	}
}

// kindOf returns the row of a kind; nil for those that are not in the table.
func kindOf(name dynamic.Kind) Kind {
	at := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name() == name })
	if at < 0 {
		return nil
	}
	return kinds[at]
}

type (
	http        = dynamic.HTTPConfiguration
	tcp         = dynamic.TCPConfiguration
	udp         = dynamic.UDPConfiguration
	tls         = dynamic.TLSConfiguration
	unsupported = dynamic.Unsupported
)

var kinds = []Kind{
	row[http, dynamic.Router]{dynamic.KindRouter, ofHTTP, func(h *http) *map[string]*dynamic.Router { return &h.Routers }},
	row[http, dynamic.Service]{dynamic.KindService, ofHTTP, func(h *http) *map[string]*dynamic.Service { return &h.Services }},
	row[http, dynamic.Middleware]{
		dynamic.KindMiddleware, ofHTTP, func(h *http) *map[string]*dynamic.Middleware { return &h.Middlewares },
	},
	row[http, dynamic.ServersTransport]{
		dynamic.KindServersTransport, ofHTTP,
		func(h *http) *map[string]*dynamic.ServersTransport { return &h.ServersTransports },
	},
	row[tcp, unsupported]{dynamic.KindTCPRouter, ofTCP, func(t *tcp) *map[string]*unsupported { return &t.Routers }},
	row[tcp, unsupported]{dynamic.KindTCPService, ofTCP, func(t *tcp) *map[string]*unsupported { return &t.Services }},
	row[tcp, unsupported]{dynamic.KindTCPMiddleware, ofTCP, func(t *tcp) *map[string]*unsupported { return &t.Middlewares }},
	row[tcp, unsupported]{
		dynamic.KindTCPServersTransport, ofTCP, func(t *tcp) *map[string]*unsupported { return &t.ServersTransports },
	},
	row[udp, unsupported]{dynamic.KindUDPRouter, ofUDP, func(u *udp) *map[string]*unsupported { return &u.Routers }},
	row[udp, unsupported]{dynamic.KindUDPService, ofUDP, func(u *udp) *map[string]*unsupported { return &u.Services }},
	row[tls, dynamic.TLSOptions]{
		dynamic.KindTLSOptions, ofTLS, func(t *tls) *map[string]*dynamic.TLSOptions { return &t.Options },
	},
	row[tls, dynamic.TLSStore]{dynamic.KindTLSStore, ofTLS, func(t *tls) *map[string]*dynamic.TLSStore { return &t.Stores }},
}

func ofHTTP(c *dynamic.Configuration) **http { return &c.HTTP }

func ofTCP(c *dynamic.Configuration) **tcp { return &c.TCP }

func ofUDP(c *dynamic.Configuration) **udp { return &c.UDP }

func ofTLS(c *dynamic.Configuration) **tls { return &c.TLS }

// row is the kind whose objects of type T are in a map of the section S.
type row[S, T any] struct {
	name    dynamic.Kind
	section func(*dynamic.Configuration) **S
	objects func(*S) *map[string]*T
}

func (r row[S, T]) Name() dynamic.Kind { return r.name }

func (r row[S, T]) Get(c *dynamic.Configuration, name string) any { return boxed(r.read(c)[name]) }

func (r row[S, T]) All(c *dynamic.Configuration) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for name, object := range r.read(c) {
			if !yield(name, boxed(object)) {
				return
			}
		}
	}
}

func (r row[S, T]) Same(a, b *dynamic.Configuration) bool {
	return reflect.ValueOf(r.read(a)).Pointer() == reflect.ValueOf(r.read(b)).Pointer()
}

func (r row[S, T]) put(c *dynamic.Configuration, name string, object any) {
	section := r.section(c)
	if *section == nil {
		*section = new(S)
	}
	objects := r.objects(*section)
	if *objects == nil {
		*objects = map[string]*T{}
	}
	var pointer *T
	if object != nil {
		pointer = object.(*T)
	}
	(*objects)[name] = pointer
}

func (r row[S, T]) remove(c *dynamic.Configuration, name string) { delete(r.read(c), name) }

func (r row[S, T]) clone(c *dynamic.Configuration) {
	if section := *r.section(c); section != nil {
		objects := r.objects(section)
		*objects = maps.Clone(*objects)
	}
}

// read returns the map of a configuration; nil when there is none.
func (r row[S, T]) read(c *dynamic.Configuration) map[string]*T {
	if section := *r.section(c); section != nil {
		return *r.objects(section)
	}
	return nil
}

// boxed returns a pointer as an interface that is nil where the pointer is.
func boxed[T any](object *T) any {
	if object == nil {
		return nil
	}
	return object
}
