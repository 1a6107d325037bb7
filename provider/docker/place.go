package docker

import "github.com/sluiceproxy/sluice/dynamic"

// place puts an object where its kind belongs.
func place(into *dynamic.Configuration, ref dynamic.Ref, object any) {
	switch object := object.(type) {
	case *dynamic.Router:
		put(&into.HTTP.Routers, ref.Name, object)
	case *dynamic.Service:
		put(&into.HTTP.Services, ref.Name, object)
	case *dynamic.Middleware:
		put(&into.HTTP.Middlewares, ref.Name, object)
	case *dynamic.ServersTransport:
		put(&into.HTTP.ServersTransports, ref.Name, object)
	case *dynamic.TLSStore:
		if into.TLS == nil {
			into.TLS = &dynamic.TLSConfiguration{}
		}
		put(&into.TLS.Stores, ref.Name, object)
	case *dynamic.Unsupported:
		placeUnsupported(into, ref, object)
	}
}

// placeUnsupported puts an object of a kind that is not built yet where it belongs.
func placeUnsupported(into *dynamic.Configuration, ref dynamic.Ref, object *dynamic.Unsupported) {
	if into.TCP == nil {
		into.TCP = &dynamic.TCPConfiguration{}
	}
	if into.UDP == nil {
		into.UDP = &dynamic.UDPConfiguration{}
	}
	maps := map[dynamic.Kind]*map[string]*dynamic.Unsupported{
		dynamic.KindTCPRouter: &into.TCP.Routers, dynamic.KindTCPService: &into.TCP.Services,
		dynamic.KindTCPMiddleware: &into.TCP.Middlewares, dynamic.KindTCPServersTransport: &into.TCP.ServersTransports,
		dynamic.KindUDPRouter: &into.UDP.Routers, dynamic.KindUDPService: &into.UDP.Services,
	}
	put(maps[ref.Kind], ref.Name, object)
}

func put[T any](into *map[string]*T, name string, object *T) {
	if *into == nil {
		*into = map[string]*T{}
	}
	(*into)[name] = object
}
