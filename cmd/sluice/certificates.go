package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mholt/acmez/v3"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/certificate/dnsprovider"
	"github.com/sluiceproxy/sluice/certificate/ocsp"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/certificate/tickets"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/log"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// resolverNames returns the names of the certificate resolvers, in order.
func resolverNames(config *static.Configuration) []string {
	return slices.Sorted(maps.Keys(config.CertificatesResolvers))
}

// acmeResolvers returns the options of the resolvers that use ACME, by name.
func acmeResolvers(config *static.Configuration) map[string]*static.ACME {
	resolvers := map[string]*static.ACME{}
	for name, resolver := range config.CertificatesResolvers {
		if resolver != nil && resolver.ACME != nil {
			resolvers[name] = resolver.ACME
		}
	}
	return resolvers
}

// newCertificates makes what obtains certificates, with a provider for each resolver. Unless it serves, the resolvers
// are checked, and no storage is opened.
func (s *system) newCertificates(keys *certificate.Tickets, serves bool) error {
	s.storages = open.NewStores(openStorage)
	if err := s.shareTickets(keys); err != nil {
		return err
	}
	resolvers := acmeResolvers(s.config)
	if len(resolvers) == 0 {
		return nil
	}
	logger := s.logs.For(log.SubsystemCertificates)
	s.certificates = acme.New(acme.Options{
		Resolvers: resolvers,
		Open: func(option string) (storage.Store, error) {
			if !serves {
				return nil, nil
			}
			return s.storages.Open(option, logger)
		},
		DNS: dnsSolvers(resolvers, logger), Logger: logger, Metrics: s.observability.metrics.ACME(s.acmeCertificates),
	})
	if !serves {
		return nil
	}
	for name := range resolvers {
		if sends := s.certificates.Provider(name); sends != nil {
			s.sources.entries = append(s.sources.entries, provider.Entry{
				Name: name + acme.ProviderSuffix, Provider: sends, Required: true,
			})
		}
	}
	return nil
}

// brokenResolvers returns a warning about each resolver that cannot work as it is configured.
func (s *system) brokenResolvers(loaded static.Loaded) []static.Finding {
	if s.certificates == nil {
		return nil
	}
	var findings []static.Finding
	broken := s.certificates.Broken()
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		found := loaded.Locate("cannot be used: "+broken[name].Error(), "certificatesResolvers", name, "acme")
		found.Severity = static.Warning
		findings = append(findings, found)
	}
	return findings
}

// shareTickets makes what shares the keys of session tickets with other replicas.
func (s *system) shareTickets(keys *certificate.Tickets) error {
	if s.config.SessionTickets == nil {
		return nil
	}
	logger := s.logs.For(log.SubsystemCertificates)
	store, err := s.storages.Open(s.config.SessionTickets.Storage, logger)
	if err != nil {
		return fmt.Errorf("sessionTickets.storage: %w", err)
	}
	s.tickets = tickets.New(store, keys, logger)
	return nil
}

// acmeCertificates returns what is measured of the certificates that resolvers obtain.
func (s *system) acmeCertificates() []metrics.ACMECertificate {
	var all []metrics.ACMECertificate
	for _, resolver := range s.certificates.Status() {
		for _, c := range resolver.Certificates {
			all = append(all, metrics.ACMECertificate{
				Resolver: resolver.Name, Name: c.Names[0], State: c.State, Failures: c.Failures, Next: c.Next,
				Renew: c.Renew, WindowStart: c.WindowStart,
			})
		}
	}
	return all
}

// newStapler makes what staples OCSP responses, with its metrics.
func (s *system) newStapler() *ocsp.Stapler {
	var stapler *ocsp.Stapler
	stapler = ocsp.New(ocsp.Options{
		Overrides: s.config.OCSP.ResponderOverrides, Logger: s.logs.For(log.SubsystemCertificates),
		Metrics: s.observability.metrics.OCSP(func() map[string]int { return stapler.States() }),
		Control: s.connections.Control,
	})
	return stapler
}

// stapleStatus returns the state of the OCSP response of a certificate, by its fingerprint.
func (s *system) stapleStatus(fingerprint string) (ocsp.Status, bool) {
	if s.stapler == nil {
		return ocsp.Status{}, false
	}
	return s.stapler.Status(fingerprint)
}

// runCertificates follows the certificates that are obtained, staples OCSP responses, shares the keys of session
// tickets and watches CRLs until ctx ends.
func (s *system) runCertificates(ctx context.Context) {
	var tasks sync.WaitGroup
	tasks.Go(func() { s.crls.Run(ctx) })
	if s.certificates != nil {
		tasks.Go(func() { s.certificates.Run(ctx) })
	}
	if s.tickets != nil {
		tasks.Go(func() { s.tickets.Run(ctx) })
	}
	if s.stapler != nil {
		tasks.Go(func() { s.stapler.Run(ctx) })
	}
	tasks.Wait()
}

// openStorage opens a storage for as long as the process runs.
func openStorage(option string, logger telemetry.Logger) (storage.Store, error) {
	return open.Open(context.Background(), option, open.Options{Logger: logger})
}

// dnsSolvers returns what makes the solvers of DNS-01 challenges. The library of the DNS providers has one log, and one
// list of servers by which all providers find their zones.
func dnsSolvers(
	resolvers map[string]*static.ACME, logger telemetry.Logger,
) func(static.DNSChallenge) (acmez.Solver, error) {
	var servers []string
	for _, name := range slices.Sorted(maps.Keys(resolvers)) {
		if config := resolvers[name].DNSChallenge; config != nil && len(config.Resolvers) > 0 {
			if addresses, err := dns01.Resolvers(*config); err == nil {
				servers = append(servers, addresses...)
			}
		}
	}
	dnsprovider.SetLogger(logger)
	if len(servers) > 0 {
		dnsprovider.SetResolvers(servers)
	}
	return func(config static.DNSChallenge) (acmez.Solver, error) {
		found, err := dnsprovider.New(config.Provider)
		if err != nil {
			return nil, fmt.Errorf("provider: %w", err)
		}
		return dns01.New(found, dns01.Options{Challenge: config, Logger: logger})
	}
}
