package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// inherited returns what routers inherit from the TCP entrypoints, in the order of their names. Without asDefault
// anywhere, all of them but the internal one take routers that name no entrypoint.
func inherited(config *static.Configuration) ([]router.EntryPoint, error) {
	explicit := false
	for _, entrypoint := range config.EntryPoints {
		explicit = explicit || entrypoint.AsDefault
	}
	var found []router.EntryPoint
	for _, name := range slices.Sorted(maps.Keys(config.EntryPoints)) {
		entrypoint := config.EntryPoints[name]
		address, err := entrypoint.ListenAddress()
		if err != nil {
			return nil, fmt.Errorf("entrypoint %q: %w", name, err)
		}
		if address.Network != "tcp" {
			continue
		}
		found = append(found, router.EntryPoint{
			Name:        name,
			Port:        int(address.Port),
			Policy:      policy(&entrypoint.HTTP),
			Default:     entrypoint.AsDefault || (!explicit && name != static.InternalEntryPoint),
			Middlewares: entrypoint.HTTP.Middlewares,
			TLS:         routerTLS(entrypoint.HTTP.TLS),
		})
	}
	return found, nil
}

func policy(config *static.HTTP) canonical.Policy {
	return canonical.Policy{
		Sanitize:              config.SanitizePath,
		EncodeQuerySemicolons: config.EncodeQuerySemicolons,
		Encoded: canonical.EncodedCharacters{
			AllowSlash:         config.EncodedCharacters.AllowEncodedSlash,
			AllowBackSlash:     config.EncodedCharacters.AllowEncodedBackSlash,
			AllowNullCharacter: config.EncodedCharacters.AllowEncodedNullCharacter,
			AllowSemicolon:     config.EncodedCharacters.AllowEncodedSemicolon,
			AllowPercent:       config.EncodedCharacters.AllowEncodedPercent,
			AllowQuestionMark:  config.EncodedCharacters.AllowEncodedQuestionMark,
			AllowHash:          config.EncodedCharacters.AllowEncodedHash,
		},
	}
}

func routerTLS(config *static.TLS) *dynamic.RouterTLS {
	if config == nil {
		return nil
	}
	inherited := &dynamic.RouterTLS{Options: config.Options, CertResolver: config.CertResolver}
	for _, domain := range config.Domains {
		inherited.Domains = append(inherited.Domains, dynamic.Domain{Main: domain.Main, SANs: domain.SANs})
	}
	return inherited
}
