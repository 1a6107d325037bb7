package main

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/servicemanager"
)

const (
	// forgetLimit is how long the service manager may take to close the sockets that it is to forget, and forgetPause the
	// time between two attempts to bind their addresses.
	forgetLimit = 5 * time.Second
	forgetPause = 20 * time.Millisecond
)

// takesSocket returns the address of an entrypoint that takes sockets of a network from the service manager. With
// reusePort it takes those of socket units alone, whose ReusePort= decides.
func (s *system) takesSocket(name, network string, stored bool) (address string, takes bool) {
	config := s.config.EntryPoints[name]
	if config == nil || stored && config.ReusePort {
		return "", false
	}
	listens, err := config.ListenAddress()
	if err != nil {
		return "", false // It is reported when the entrypoint is made.
	}
	http3 := listens.Network == "tcp" && config.HTTP3 != nil && !config.HTTP3.Withdrawn
	return listens.HostPort(), listens.Network == network || http3
}

// bind has an entrypoint listen. Its address may be in use by a socket that the service manager is to forget.
func (s *system) bind(ctx context.Context, entrypoint listener) error {
	limit, ticker := time.NewTimer(forgetLimit), time.NewTicker(forgetPause)
	defer limit.Stop()
	defer ticker.Stop()
	for {
		err := entrypoint.Listen(ctx)
		if !s.forgotten || !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		select {
		case <-ticker.C:
		case <-limit.C:
			return err
		case <-ctx.Done():
			return err
		}
	}
}

// storeAgain has the service manager keep the sockets of a successor, which is the main process of the unit now. Those
// of the predecessor that it does not use are closed, so that clients do not wait in them.
func (s *system) storeAgain(manager *servicemanager.Notifier, h *succession, o *opened) {
	if !h.inherits() {
		return
	}
	var unused []string
	for _, address := range h.unused {
		unused = append(unused, servicemanager.StoredName(address.Name, address.Network))
	}
	manager.Forget(unused...)
	s.store(manager, o.passed, o.entrypoints)
}

// store has the service manager keep the sockets that it has not passed. With reusePort other processes have sockets of
// the address, and a kept one would take clients from them while this process is restarted.
func (s *system) store(manager *servicemanager.Notifier, passed *servicemanager.Sockets, entrypoints []listener) {
	for _, entrypoint := range entrypoints {
		name := entrypoint.Name()
		if s.config.EntryPoints[name].ReusePort {
			continue
		}
		for network, socket := range entrypoint.Sockets {
			if !passed.Taken(name, network) {
				manager.Store(name, network, socket)
			}
		}
	}
}
