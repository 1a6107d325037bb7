package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mholt/acmez/v3"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/certificate/dnsprovider"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/static"
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
func (s *system) newCertificates(serves bool) error {
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
			return open.Open(option, logger)
		},
		DNS: dnsSolver, Logger: logger, Metrics: s.observability.metrics.ACME(s.acmeCertificates),
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

// dnsSolver returns the solver of DNS-01 challenges.
func dnsSolver(config static.DNSChallenge) (acmez.Solver, error) {
	found, err := dnsprovider.New(config.Provider)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	return dns01.New(found, config)
}
