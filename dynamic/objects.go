package dynamic

import (
	"fmt"
	"iter"
	"slices"

	"github.com/sluiceproxy/sluice/immutable"
)

// objectKind reads and writes the objects of one kind. An object travels as its pointer, for example *Router; one that
// declares nothing is nil.
type objectKind interface {
	name() Kind
	find(c *Configuration, name string) (object any, declared bool)
	all(c *Configuration) iter.Seq2[string, any]
	changed(c, before *Configuration) iter.Seq[string]
	put(c *Configuration, e *immutable.Edit, name string, object any)
	remove(c *Configuration, e *immutable.Edit, name string)
}

// Find returns the object of a reference as its pointer, for example *Router, and whether it is declared; one that
// declares nothing is nil. It does not find certificates.
func (c *Configuration) Find(ref Ref) (object any, declared bool) {
	if kind := kindOf(ref.Kind); kind != nil {
		return kind.find(c, ref.Name)
	}
	return nil, false
}

// Object returns the object of a reference; nil when there is none. It does not find certificates.
func (c *Configuration) Object(ref Ref) any {
	object, _ := c.Find(ref)
	return object
}

// Changed yields, in no order, every reference but those of certificates whose object is not the same pointer as in an
// earlier configuration, or that only one of both has. It costs what was edited in between.
func (c *Configuration) Changed(before *Configuration) iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		for _, kind := range objectKinds {
			for name := range kind.changed(c, before) {
				if !yield(Ref{Kind: kind.name(), Name: name}) {
					return
				}
			}
		}
	}
}

// Objects yields every object but certificates with its reference, in no order.
func (c *Configuration) Objects() iter.Seq2[Ref, any] {
	return func(yield func(Ref, any) bool) {
		for _, kind := range objectKinds {
			for name, object := range kind.all(c) {
				if !yield(Ref{Kind: kind.name(), Name: name}, object) {
					return
				}
			}
		}
	}
}

// kindOf returns the row of a kind; nil for those that are not in the table.
func kindOf(kind Kind) objectKind {
	at := slices.IndexFunc(objectKinds, func(k objectKind) bool { return k.name() == kind })
	if at < 0 {
		return nil
	}
	return objectKinds[at]
}

// objectKinds is the table of the kinds of objects that have names (all but certificates, which are a list), in the
// order of the sections of a configuration.
var objectKinds = []objectKind{
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
	row[TCPConfiguration, TCPRouter]{
		KindTCPRouter, ofTCP, func(t *TCPConfiguration) *Objects[TCPRouter] { return &t.Routers },
	},
	row[TCPConfiguration, TCPService]{
		KindTCPService, ofTCP, func(t *TCPConfiguration) *Objects[TCPService] { return &t.Services },
	},
	row[TCPConfiguration, TCPMiddleware]{
		KindTCPMiddleware, ofTCP, func(t *TCPConfiguration) *Objects[TCPMiddleware] { return &t.Middlewares },
	},
	row[TCPConfiguration, TCPServersTransport]{
		KindTCPServersTransport, ofTCP,
		func(t *TCPConfiguration) *Objects[TCPServersTransport] { return &t.ServersTransports },
	},
	row[UDPConfiguration, UDPRouter]{
		KindUDPRouter, ofUDP, func(u *UDPConfiguration) *Objects[UDPRouter] { return &u.Routers },
	},
	row[UDPConfiguration, UDPService]{
		KindUDPService, ofUDP, func(u *UDPConfiguration) *Objects[UDPService] { return &u.Services },
	},
	row[TLSConfiguration, TLSOptions]{
		KindTLSOptions, ofTLS, func(t *TLSConfiguration) *Objects[TLSOptions] { return &t.Options },
	},
	row[TLSConfiguration, TLSStore]{
		KindTLSStore, ofTLS, func(t *TLSConfiguration) *Objects[TLSStore] { return &t.Stores },
	},
	row[ListenersConfiguration, Listener]{
		KindListener, ofListeners, func(l *ListenersConfiguration) *Objects[Listener] { return &l.Listeners },
	},
}

func ofHTTP(c *Configuration) **HTTPConfiguration { return &c.HTTP }

func ofTCP(c *Configuration) **TCPConfiguration { return &c.TCP }

func ofUDP(c *Configuration) **UDPConfiguration { return &c.UDP }

func ofTLS(c *Configuration) **TLSConfiguration { return &c.TLS }

func ofListeners(c *Configuration) **ListenersConfiguration { return &c.Listeners }

// row is the kind whose objects of type T are in a field of the section S.
type row[S, T any] struct {
	kind    Kind
	section func(*Configuration) **S
	objects func(*S) *Objects[T]
}

func (r row[S, T]) name() Kind { return r.kind }

func (r row[S, T]) find(c *Configuration, name string) (any, bool) {
	object, declared := r.read(c).Find(name)
	return boxed(object), declared
}

func (r row[S, T]) all(c *Configuration) iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for name, object := range r.read(c).All() {
			if !yield(name, boxed(object)) {
				return
			}
		}
	}
}

func (r row[S, T]) changed(c, before *Configuration) iter.Seq[string] {
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
