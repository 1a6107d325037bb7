package dynamic

import (
	"fmt"
	"iter"
	"slices"

	"github.com/sluiceproxy/sluice/immutable"
)

// ObjectKind reads the objects of one kind in a Configuration. An object travels as its pointer, for example *Router;
// one that declares nothing is nil.
type ObjectKind interface {
	// Kind returns the kind as it is called in references.
	Kind() Kind
	// Find returns the object of a name, and whether it is declared.
	Find(c *Configuration, name string) (object any, declared bool)
	// All yields every object with its name, in no order.
	All(c *Configuration) iter.Seq2[string, any]
	// Changed yields, in no order, the names whose objects are not the same pointers as in an earlier configuration, and
	// those that only one of both has. It costs what was edited in between.
	Changed(c, before *Configuration) iter.Seq[string]

	put(c *Configuration, e *immutable.Edit, name string, object any)
	remove(c *Configuration, e *immutable.Edit, name string)
}

// ObjectKinds returns the table of the kinds of objects that have names (all but certificates, which are a list), in
// the order of the sections of a configuration. It must not be changed.
func ObjectKinds() []ObjectKind { return objectKinds }

// Object returns the object of a reference; nil when there is none. It does not find certificates.
func (c *Configuration) Object(ref Ref) any {
	if kind := objectKind(ref.Kind); kind != nil {
		object, _ := kind.Find(c, ref.Name)
		return object
	}
	return nil
}

// Objects yields every object but certificates with its reference, in no order.
func (c *Configuration) Objects() iter.Seq2[Ref, any] {
	return func(yield func(Ref, any) bool) {
		for _, kind := range objectKinds {
			for name, object := range kind.All(c) {
				if !yield(Ref{Kind: kind.Kind(), Name: name}, object) {
					return
				}
			}
		}
	}
}

// objectKind returns the row of a kind; nil for those that are not in the table.
func objectKind(kind Kind) ObjectKind {
	at := slices.IndexFunc(objectKinds, func(k ObjectKind) bool { return k.Kind() == kind })
	if at < 0 {
		return nil
	}
	return objectKinds[at]
}

var objectKinds = []ObjectKind{
	row[HTTPConfiguration, Router]{KindRouter, ofHTTP, func(h *HTTPConfiguration) *Objects[Router] { return &h.Routers }},
	row[HTTPConfiguration, Service]{
		KindService, ofHTTP, func(h *HTTPConfiguration) *Objects[Service] { return &h.Services },
	},
	row[HTTPConfiguration, Middleware]{
		KindMiddleware, ofHTTP, func(h *HTTPConfiguration) *Objects[Middleware] { return &h.Middlewares },
	},
	row[HTTPConfiguration, ServersTransport]{
		KindServersTransport, ofHTTP, func(h *HTTPConfiguration) *Objects[ServersTransport] { return &h.ServersTransports },
	},
	row[TCPConfiguration, Unsupported]{
		KindTCPRouter, ofTCP, func(t *TCPConfiguration) *Objects[Unsupported] { return &t.Routers },
	},
	row[TCPConfiguration, Unsupported]{
		KindTCPService, ofTCP, func(t *TCPConfiguration) *Objects[Unsupported] { return &t.Services },
	},
	row[TCPConfiguration, Unsupported]{
		KindTCPMiddleware, ofTCP, func(t *TCPConfiguration) *Objects[Unsupported] { return &t.Middlewares },
	},
	row[TCPConfiguration, Unsupported]{
		KindTCPServersTransport, ofTCP, func(t *TCPConfiguration) *Objects[Unsupported] { return &t.ServersTransports },
	},
	row[UDPConfiguration, Unsupported]{
		KindUDPRouter, ofUDP, func(u *UDPConfiguration) *Objects[Unsupported] { return &u.Routers },
	},
	row[UDPConfiguration, Unsupported]{
		KindUDPService, ofUDP, func(u *UDPConfiguration) *Objects[Unsupported] { return &u.Services },
	},
	row[TLSConfiguration, TLSOptions]{
		KindTLSOptions, ofTLS, func(t *TLSConfiguration) *Objects[TLSOptions] { return &t.Options },
	},
	row[TLSConfiguration, TLSStore]{
		KindTLSStore, ofTLS, func(t *TLSConfiguration) *Objects[TLSStore] { return &t.Stores },
	},
}

func ofHTTP(c *Configuration) **HTTPConfiguration { return &c.HTTP }

func ofTCP(c *Configuration) **TCPConfiguration { return &c.TCP }

func ofUDP(c *Configuration) **UDPConfiguration { return &c.UDP }

func ofTLS(c *Configuration) **TLSConfiguration { return &c.TLS }

// row is the kind whose objects of type T are in a field of the section S.
type row[S, T any] struct {
	kind    Kind
	section func(*Configuration) **S
	objects func(*S) *Objects[T]
}

func (r row[S, T]) Kind() Kind { return r.kind }

func (r row[S, T]) Find(c *Configuration, name string) (any, bool) {
	object, declared := r.read(c).Find(name)
	return boxed(object), declared
}

func (r row[S, T]) All(c *Configuration) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for name, object := range r.read(c).All() {
			if !yield(name, boxed(object)) {
				return
			}
		}
	}
}

func (r row[S, T]) Changed(c, before *Configuration) iter.Seq[string] {
	return r.read(c).Changed(r.read(before))
}

func (r row[S, T]) put(c *Configuration, e *immutable.Edit, name string, object any) {
	section := r.section(c)
	if *section == nil {
		*section = new(S)
	}
	pointer, _ := object.(*T)
	if pointer == nil && object != nil {
		panic(fmt.Sprintf("dynamic: %T is not a %s", object, r.kind))
	}
	r.objects(*section).Set(e, name, pointer)
}

func (r row[S, T]) remove(c *Configuration, e *immutable.Edit, name string) {
	if section := *r.section(c); section != nil {
		r.objects(section).Delete(e, name)
	}
}

// read returns the objects of a configuration.
func (r row[S, T]) read(c *Configuration) Objects[T] {
	if section := *r.section(c); section != nil {
		return *r.objects(section)
	}
	return Objects[T]{}
}

// boxed returns a pointer as an interface that is nil where the pointer is.
func boxed[T any](object *T) any {
	if object == nil {
		return nil
	}
	return object
}
