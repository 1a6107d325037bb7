package main

import (
	"context"
	"net"

	"github.com/sluiceproxy/sluice/static"
)

// reachable reports whether services may lead to an entrypoint on a loopback address. With api.admin none may, since
// the administration may be served there without authentication. A forward proxy reaches everything that this process
// reaches.
func (s *system) reachable(config *static.EntryPoint) bool {
	return config.ForwardProxy == nil && (s.config.API == nil || !s.config.API.Admin)
}

// reserveConfigured has no connection opened to what is served on loopback addresses without authentication, already
// before it listens: another process has to know the addresses before clients of it wait there.
func (s *system) reserveConfigured() {
	for _, config := range s.config.EntryPoints {
		address, err := config.ListenAddress()
		if err != nil || s.reachable(config) || address.Network != "tcp" {
			continue
		}
		s.connections.ReserveConfigured("tcp", address.HostPort())
		if config.HTTP3 != nil {
			s.connections.ReserveConfigured("udp", address.HostPort())
		}
	}
	if config := s.config.XDS; config != nil && !config.Authenticated() {
		s.connections.ReserveConfigured("tcp", config.Address)
	}
	if config := s.config.Inspector; config != nil {
		s.connections.ReserveConfigured("tcp", config.Address)
	}
	if config := s.config.Injector; config != nil {
		s.connections.ReserveConfigured("tcp", config.Address)
		s.connections.ReserveConfigured("tcp", config.StatusAddress)
	}
}

// listenReserved opens the listener of an option, whose address is reserved if it is a loopback one.
func (s *system) listenReserved(ctx context.Context, name, address string) (net.Listener, error) {
	listener, err := s.auxiliaries.listen(ctx, name, address)
	if err != nil {
		return nil, err
	}
	s.connections.Reserve(listener)
	return listener, nil
}
