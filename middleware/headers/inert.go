package headers

import (
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
)

// inert returns one clause for each option without effect.
func inert(config dynamic.Headers) []string {
	var warnings []string
	for _, option := range []struct {
		isSet     bool
		name, why string
	}{
		{isTrue(config.SSLRedirect), "sslRedirect", "use the redirection of an entrypoint or the middleware redirectScheme"},
		{
			isTrue(config.SSLTemporaryRedirect), "sslTemporaryRedirect",
			"use the redirection of an entrypoint or the middleware redirectScheme",
		},
		{isTrue(config.SSLForceHost), "sslForceHost", "use the middleware redirectRegex"},
		{config.SSLHost != nil && *config.SSLHost != "", "sslHost", "use the middleware redirectRegex"},
		{config.FeaturePolicy != nil && *config.FeaturePolicy != "", "featurePolicy", "use permissionsPolicy"},
	} {
		if option.isSet {
			warnings = append(warnings, fmt.Sprintf("headers.%s is deprecated and has no effect: %s", option.name, option.why))
		}
	}
	for _, option := range []struct {
		isSet         bool
		name, without string
	}{
		{config.STSIncludeSubdomains && seconds(config) == 0, "stsIncludeSubdomains", "stsSeconds"},
		{config.STSPreload && seconds(config) == 0, "stsPreload", "stsSeconds"},
		{config.ForceSTSHeader && seconds(config) == 0, "forceSTSHeader", "stsSeconds"},
		{len(config.HostsProxyHeaders) > 0 && len(config.AllowedHosts) == 0, "hostsProxyHeaders", "allowedHosts"},
	} {
		if option.isSet {
			warnings = append(warnings, fmt.Sprintf("headers.%s has no effect without headers.%s", option.name, option.without))
		}
	}
	return warnings
}

func isTrue(option *bool) bool { return option != nil && *option }
