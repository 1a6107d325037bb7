package annotation

// routingSpecs are the annotations about paths and hosts.
func routingSpecs() []Spec {
	return []Spec{
		{
			Name: "app-root", Group: "routing", Scope: Host, Risk: Medium,
			Means: "302 from / of the host to this path",
		},
		{
			Name: "force-ssl-redirect", Group: "routing", Scope: Location, Risk: Medium,
			Means: "308 to https, also for a host without a certificate",
		},
		{
			Name: "preserve-trailing-slash", Group: "routing", Scope: Location, Risk: Medium,
			Means: "the redirect to https keeps a final slash",
		},
		{
			Name: "rewrite-target", Group: "routing", Scope: Host, Risk: Medium, Support: Differs,
			Means: "the path becomes this text, with captures of the Ingress's path; all paths of the host become regular expressions",
			Note: "lookaround, backreferences and possessive quantifiers in a path are refused: expressions run in linear time. " +
				"Such a location answers 503",
		},
		{
			Name: "server-alias", Group: "routing", Scope: Host, Risk: High, Support: Differs,
			Means: "more names of the host",
			Note:  "an alias that is a regular expression has the limits of rewrite-target",
		},
		{
			Name: "ssl-redirect", Group: "routing", Scope: Location, Risk: Low,
			Means: "308 to https where the host has a certificate",
		},
		{
			Name: "use-regex", Group: "routing", Scope: Host, Risk: Low, Support: Differs,
			Means: "all paths of the host are regular expressions, without regard to case",
			Note:  "the same expressions are refused as with rewrite-target",
		},
	}
}

// redirectSpecs are the annotations that answer by a redirect.
func redirectSpecs() []Spec {
	return []Spec{
		{
			Name: "from-to-www-redirect", Group: "redirect", Scope: Host, Risk: Low,
			Means: "308 from the host with or without www. to the other one, unless an Ingress has that host",
		},
		{
			Name: "permanent-redirect", Group: "redirect", Scope: Location, Risk: Medium,
			Means: "every request is answered by a redirect to this URL",
		},
		{
			Name: "permanent-redirect-code", Group: "redirect", Scope: Location, Risk: Low,
			Means: "its status, 300 to 308, else 301",
		},
		{
			Name: "relative-redirects", Group: "redirect", Scope: Location, Risk: Low,
			Means: "the redirect to a final slash has a relative Location",
		},
		{
			Name: "temporal-redirect", Group: "redirect", Scope: Location, Risk: Medium,
			Means: "as permanent-redirect, over which it wins",
		},
		{
			Name: "temporal-redirect-code", Group: "redirect", Scope: Location, Risk: Low,
			Means: "its status, 300 to 307, else 302",
		},
		{
			Name: "use-port-in-redirects", Group: "redirect", Scope: Location, Risk: Low,
			Means: "the redirect to https has the port in Location",
		},
	}
}
