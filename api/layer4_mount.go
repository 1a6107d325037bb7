package api

import (
	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/dynamic"
)

// mountLayer4 adds the paths of the objects of TCP and UDP.
func (h *handler) mountLayer4(root *mux.Router) {
	mount(h, root, "/api/tcp/routers", listing[*tcpRouterRow]{
		noun: "router", pick: func(v *view) table[*tcpRouterRow] { return v.tcpRouters },
		keep: keepTCPRouter, order: orderTCPRouters,
		show: func(r *tcpRouterRow) any { return r.show(r.named()) },
	})
	mount(h, root, "/api/tcp/services", listing[*definedRow[dynamic.TCPService]]{
		noun: "service", pick: func(v *view) table[*definedRow[dynamic.TCPService]] { return v.tcpServices },
		order: func(by string) func(a, b *definedRow[dynamic.TCPService]) int {
			return orderDefined(by, h.countTCPServers)
		},
		show: func(r *definedRow[dynamic.TCPService]) any { return h.showTCPService(r, r.named()) },
	})
	mount(h, root, "/api/tcp/middlewares", listing[*definedRow[dynamic.TCPMiddleware]]{
		noun: "middleware", pick: func(v *view) table[*definedRow[dynamic.TCPMiddleware]] { return v.tcpMiddlewares },
		order: func(by string) func(a, b *definedRow[dynamic.TCPMiddleware]) int {
			return orderDefined[dynamic.TCPMiddleware](by, nil)
		},
		show: func(r *definedRow[dynamic.TCPMiddleware]) any { return showTCPMiddleware(r, r.named()) },
	})
	mount(h, root, "/api/udp/routers", listing[*udpRouterRow]{
		noun: "router", pick: func(v *view) table[*udpRouterRow] { return v.udpRouters },
		keep: keepUDPRouter, order: orderUDPRouters,
		show: func(r *udpRouterRow) any { return r.show(r.named()) },
	})
	mount(h, root, "/api/udp/services", listing[*definedRow[dynamic.UDPService]]{
		noun: "service", pick: func(v *view) table[*definedRow[dynamic.UDPService]] { return v.udpServices },
		order: func(by string) func(a, b *definedRow[dynamic.UDPService]) int {
			return orderDefined(by, h.countUDPServers)
		},
		show: func(r *definedRow[dynamic.UDPService]) any { return h.showUDPService(r, r.named()) },
	})
}

// countTCPServers returns the number of a service's own servers.
func (h *handler) countTCPServers(r *definedRow[dynamic.TCPService]) int {
	balancer := r.definition.LoadBalancer
	switch {
	case balancer == nil:
		return 0
	case balancer.EndpointSet != "":
		return len(h.servers(protocolTCP, r.name))
	}
	return len(balancer.Servers)
}

// countUDPServers returns the number of a service's own servers.
func (h *handler) countUDPServers(r *definedRow[dynamic.UDPService]) int {
	balancer := r.definition.LoadBalancer
	switch {
	case balancer == nil:
		return 0
	case balancer.EndpointSet != "":
		return len(h.servers(protocolUDP, r.name))
	}
	return len(balancer.Servers)
}
