package providertest

import "github.com/sluiceproxy/sluice/dynamic"

// Objects returns the pointers of all objects of a configuration by their references.
func Objects(c *dynamic.Configuration) map[dynamic.Ref]any {
	out := map[dynamic.Ref]any{}
	if c.HTTP != nil {
		add(out, dynamic.KindRouter, c.HTTP.Routers)
		add(out, dynamic.KindService, c.HTTP.Services)
		add(out, dynamic.KindMiddleware, c.HTTP.Middlewares)
		add(out, dynamic.KindServersTransport, c.HTTP.ServersTransports)
	}
	if c.TCP != nil {
		add(out, dynamic.KindTCPRouter, c.TCP.Routers)
		add(out, dynamic.KindTCPService, c.TCP.Services)
		add(out, dynamic.KindTCPMiddleware, c.TCP.Middlewares)
		add(out, dynamic.KindTCPServersTransport, c.TCP.ServersTransports)
	}
	if c.UDP != nil {
		add(out, dynamic.KindUDPRouter, c.UDP.Routers)
		add(out, dynamic.KindUDPService, c.UDP.Services)
	}
	if c.TLS != nil {
		add(out, dynamic.KindTLSOptions, c.TLS.Options)
		add(out, dynamic.KindTLSStore, c.TLS.Stores)
		for place, entry := range c.TLS.Certificates {
			out[entry.Ref(place)] = entry
		}
	}
	return out
}

func add[T any](out map[dynamic.Ref]any, kind dynamic.Kind, objects map[string]*T) {
	for name, object := range objects {
		ref := dynamic.Ref{Kind: kind, Name: name}
		if object == nil {
			out[ref] = nil // and not a nil pointer in an interface
			continue
		}
		out[ref] = object
	}
}
