package traefik

// arrangement is the routers of one entrypoint, and the clients that connect to it beside those of everyday.
type arrangement struct {
	// name is the one of the entrypoint.
	name    string
	routers []router
	clients []string
	// bypass is the option allowACMEByPass of the entrypoint.
	bypass bool
}

// router is an HTTP router if the name of its service begins with http, and a TCP router else.
type router struct {
	// service is the name of the endpoint.
	service, rule string
	// tls is the name of the TLS options; "" is for no TLS, and "through" for TLS that passes through.
	tls      string
	priority int
}

// Each of these TLS options has one version of TLS, which shows which of them are in force.
const (
	tlsDefault = "default" // TLS 1.2
	tlsOld     = "old"     // TLS 1.0
	tlsNew     = "new"     // TLS 1.3
	tlsMissing = "missing" // They do not exist.
	tlsBroken  = "broken"  // Their certificate authorities do not exist.
	through    = "through"
)

const everything, hostA = "HostSNI(`*`)", "HostSNI(`a.test`)"

// ofTCP returns a TCP router for connections without TLS, secured one with TLS.
func ofTCP() router                     { return router{"tcp", everything, "", 0} }
func securedTCP() router                { return router{"tcp-a", hostA, tlsNew, 0} }
func securedAll() router                { return router{"tcp-all", everything, tlsOld, 0} }
func throughA() router                  { return router{"through-a", hostA, through, 0} }
func throughAll() router                { return router{"through", everything, through, 0} }
func ofHTTP() router                    { return router{"http-a", "Host(`a.test`)", "", 0} }
func securedHTTP() router               { return router{"https-a", "Host(`a.test`)", tlsNew, 0} }
func securedPrefix() router             { return router{"https-prefix", "PathPrefix(`/`)", tlsDefault, 1} }
func (r router) at(priority int) router { r.priority = priority; return r }
func (r router) as(tls string) router   { r.tls = tls; return r }

// secured returns another TCP router with the TLS options new.
func secured(rule string) router { return router{"tcp-rule", rule, tlsNew, 0} }

// arrangements returns all of them.
func arrangements() (all []arrangement) {
	for _, some := range [][]arrangement{ofOneKind(), ofSeveralKinds(), ofRules(), ofPriorities(), ofFirstBytes()} {
		all = append(all, some...)
	}
	return all
}

// ofOneKind are entrypoints with one kind of router.
func ofOneKind() []arrangement {
	return []arrangement{
		{name: "nothing", clients: []string{"acme/a", "postgres/a"}},
		{name: "tcp", routers: []router{ofTCP()}, clients: []string{"http2", "acme/a"}},
		{name: "http", routers: []router{ofHTTP()}, clients: []string{"http2", "postgres/a", "80", "half", "zero"}},
		{name: "tls", routers: []router{securedTCP()}, clients: []string{"https/A", "fragments/a", "acme/a", "long"}},
		{name: "tls-all", routers: []router{securedAll()}, clients: []string{"fragments/a", "acme/a", "long"}},
		{name: "through", routers: []router{throughA()}, clients: []string{"https/A", "fragments/a"}},
		{name: "through-all", routers: []router{throughAll()}, clients: []string{"acme/a", "fragments/a"}},
		{name: "through-all-bypass", routers: []router{throughAll()}, clients: []string{"acme/a"}, bypass: true},
		{name: "https", routers: []router{securedHTTP()}, clients: []string{"https/A", "fragments/a", "acme/a"}},
		{name: "https-prefix", routers: []router{securedPrefix()}, clients: []string{"fragments/a"}},
	}
}

// ofSeveralKinds are entrypoints with several kinds of routers.
func ofSeveralKinds() []arrangement {
	return []arrangement{
		{name: "tcp+http", routers: []router{ofTCP(), ofHTTP()}, clients: []string{"http2"}},
		{name: "tls+http", routers: []router{securedTCP(), ofHTTP()}},
		{name: "tls-all+http", routers: []router{securedAll(), ofHTTP()}},
		{name: "tcp+https", routers: []router{ofTCP(), securedHTTP()}, clients: []string{"http2"}},
		{name: "tcp+https-prefix", routers: []router{ofTCP(), securedPrefix()}},
		{name: "tcp+tls", routers: []router{ofTCP(), securedTCP()}},
		{name: "tcp+tls-all", routers: []router{ofTCP(), securedAll()}},
		{name: "tcp+through", routers: []router{ofTCP(), throughA()}},
		{name: "tls+https", routers: []router{securedTCP(), securedHTTP()}},
		{name: "tls-all+https", routers: []router{securedAll(), securedHTTP()}},
		{name: "through+https", routers: []router{throughA(), securedHTTP()}},
		{name: "through-all+https", routers: []router{throughAll(), securedHTTP()}},
		{name: "tls+https-prefix", routers: []router{securedTCP(), securedPrefix()}},
		{name: "tls-all+https-prefix", routers: []router{securedAll(), securedPrefix()}},
		{name: "through+https-prefix", routers: []router{throughA(), securedPrefix()}},
		{name: "through-all+https-prefix", routers: []router{throughAll(), securedPrefix()}},
		{name: "tls+tls-all", routers: []router{securedTCP(), securedAll()}, clients: []string{"https/A"}},
		{name: "through+tls-all", routers: []router{throughA(), securedAll()}},
		{name: "tls+through-all", routers: []router{securedTCP(), throughAll()}},
		{name: "https+https-prefix", routers: []router{securedHTTP(), securedPrefix()}},
		{name: "https-prefix-above-https", routers: []router{securedHTTP(), securedPrefix().at(100)}},
		{name: "http+https", routers: []router{ofHTTP(), securedHTTP()}},
		{
			name: "all", clients: []string{"https/A", "fragments/a", "http2", "postgres/a", "postgres/b"},
			routers: []router{ofTCP(), ofHTTP(), securedHTTP(), securedTCP(), securedAll()},
		},
		{
			name:    "all+https-prefix",
			routers: []router{ofTCP(), ofHTTP(), securedHTTP(), securedTCP(), securedAll(), securedPrefix()},
		},
	}
}

// ofRules are TCP routers with other rules, and HTTP routers whose rules name hosts in other ways.
func ofRules() []arrangement {
	const regexp, negated, both = "HostSNIRegexp(`^a`)", "!HostSNI(`b.test`)", "HostSNI(`a.test`) || HostSNI(`*`)"
	const protocol, client, stranger = "ALPN(`h2`)", "ClientIP(`127.0.0.0/8`)", "ClientIP(`192.0.2.0/24`)"
	https := func(rule string) router { return router{"https-rule", rule, tlsNew, 0} }
	return []arrangement{
		{name: "regexp+https", routers: []router{secured(regexp), securedHTTP()}},
		{name: "regexp+https-prefix", routers: []router{secured(regexp), securedPrefix()}, clients: []string{"https/A"}},
		{name: "regexp-all+https-prefix", routers: []router{secured("HostSNIRegexp(`.*`)"), securedPrefix()}},
		{name: "wildcard+https", routers: []router{secured("HostSNI(`*.test`)"), securedHTTP()}},
		{name: "wildcard+https-prefix", routers: []router{secured("HostSNI(`*.test`)"), securedPrefix()}},
		{name: "not+https", routers: []router{secured(negated), securedHTTP()}},
		{name: "not+https-prefix", routers: []router{secured(negated), securedPrefix()}},
		{name: "not-all+https-prefix", routers: []router{secured("!HostSNI(`*`)"), securedPrefix()}},
		{name: "host-or-all+https", routers: []router{secured(both), securedHTTP()}},
		{name: "host-or-all+https-prefix", routers: []router{secured(both), securedPrefix()}},
		{name: "twice+https-prefix", routers: []router{secured(everything + " || " + everything), securedPrefix()}},
		{name: "case+https-prefix", routers: []router{secured(" hostsni(\"*\") "), securedPrefix()}},
		{name: "alpn+https", routers: []router{secured(protocol), securedHTTP()}},
		{name: "alpn+https-prefix", routers: []router{secured(protocol), securedPrefix()}},
		{name: "tls-client+https", routers: []router{secured(client), securedHTTP()}},
		{name: "tls-client+https-prefix", routers: []router{secured(client), securedPrefix()}},
		{name: "client", routers: []router{{"tcp", client, "", 0}}},
		{name: "client+http", routers: []router{{"tcp", client, "", 0}, ofHTTP()}},
		{name: "client+https", routers: []router{{"tcp", client, "", 0}, securedHTTP()}},
		{name: "stranger", routers: []router{{"tcp", stranger, "", 0}}},
		{name: "stranger+http", routers: []router{{"tcp", stranger, "", 0}, ofHTTP()}},
		{name: "stranger+https", routers: []router{{"tcp", stranger, "", 0}, securedHTTP()}},
		{name: "not-stranger+http", routers: []router{{"tcp", "!" + stranger, "", 0}, ofHTTP()}},
		{name: "all-and-client+http", routers: []router{{"tcp", everything + " && " + client, "", 0}, ofHTTP()}},
		{name: "tls+https-regexp", routers: []router{securedTCP(), https("HostRegexp(`^[ab]`)").as(tlsDefault)}},
		{name: "tls-all+https-regexp", routers: []router{securedAll(), https("HostRegexp(`^[ab]`)").as(tlsDefault)}},
		{name: "tls+https-or", routers: []router{securedTCP(), https("Host(`a.test`) || PathPrefix(`/`)")}},
		{name: "tls-all+https-or", routers: []router{securedAll(), https("Host(`a.test`) || PathPrefix(`/`)")}},
		{name: "tls-all+https-not", routers: []router{securedAll(), https("!Host(`a.test`)").as(tlsDefault)}},
		{name: "tls+https-not", routers: []router{securedTCP(), https("!Host(`b.test`)").as(tlsDefault)}},
		{name: "tls-all+https-not-options", routers: []router{securedAll(), https("!Host(`a.test`)")}},
		{name: "https-not", routers: []router{https("!Host(`b.test`)").as(tlsDefault)}},
		{name: "tls+https-wildcard", routers: []router{securedTCP(), https("Host(`*.test`)")}},
		{name: "tls-all+https-path", routers: []router{securedAll(), https("Host(`a.test`) && Path(`/other`)")}},
		{name: "tls+https-prefix-options", routers: []router{securedTCP(), securedPrefix().as(tlsNew)}},
		{
			name:    "one-host-two-options",
			routers: []router{secured(hostA + " && " + stranger), {"tcp-a", hostA + " && " + client, tlsOld, 0}},
		},
		{name: "host-without-tls", routers: []router{{"tcp", hostA, "", 0}, ofHTTP()}},
		{name: "missing-options+tls-all", routers: []router{securedTCP().as(tlsMissing), securedAll()}},
		{name: "missing-options+https-prefix", routers: []router{securedHTTP().as(tlsMissing), securedPrefix()}},
		{name: "missing-options", routers: []router{securedHTTP().as(tlsMissing)}},
		{name: "broken-options+tls-all", routers: []router{securedTCP().as(tlsBroken), securedAll()}},
		{name: "broken-options+https-prefix", routers: []router{securedHTTP().as(tlsBroken), securedPrefix()}},
	}
}

// ofPriorities are entrypoints where priorities decide, and some where they do not.
func ofPriorities() []arrangement {
	const client = "ClientIP(`127.0.0.1`)"
	other := router{"tcp-other", client, "", 0}
	return []arrangement{
		{name: "client-first", routers: []router{ofTCP(), other}},
		{name: "all-first", routers: []router{ofTCP().at(100), other}},
		{name: "client-negative", routers: []router{ofTCP(), other.at(-2)}},
		{name: "both-negative", routers: []router{ofTCP().at(-5), other.at(-4)}},
		{name: "longest", routers: []router{other, {"tcp", client + " && !ALPN(`h2`)", "", 0}}},
		{name: "tls-all-first", routers: []router{securedAll().at(1000), securedTCP()}},
		{name: "tls-negative", routers: []router{securedAll(), securedTCP().at(-2)}},
		{name: "tls-above-tls-all", routers: []router{securedAll().at(5), securedTCP().at(6)}},
		{name: "tls-all-first+https-prefix", routers: []router{securedAll().at(1000), securedTCP(), securedPrefix()}},
		{name: "tls-above-https", routers: []router{securedTCP().at(1000), securedHTTP().at(1)}},
		{name: "tls-all-above-https-prefix", routers: []router{securedAll().at(1000), securedPrefix().at(1)}},
		{name: "tls-below-https-prefix", routers: []router{securedTCP().at(-1000), securedPrefix().at(1000)}},
		{name: "tcp-below-http", routers: []router{ofTCP().at(1), ofHTTP().at(1000)}},
		{name: "above-limit", routers: []router{ofTCP().at(1<<63 - 1), ofHTTP()}},
		{
			name:    "wildcard-above-host",
			routers: []router{secured("HostSNI(`*.test`)").at(200), securedTCP().at(100).as(tlsOld)},
		},
		{name: "longer-wildcard", routers: []router{secured("HostSNI(`*.test`) && " + client), securedTCP().as(tlsOld)}},
		{name: "regexp-above-host", routers: []router{secured("HostSNIRegexp(`^[ab]`)").at(90), securedTCP().as(tlsOld)}},
	}
}

// ofFirstBytes are entrypoints for clients of PostgreSQL, and for those whose first bytes are like those of others.
func ofFirstBytes() []arrangement {
	postgres := []string{"postgres/a", "postgres/b", "half"}
	edge := append([]string{"80", "zero"}, postgres...)
	return []arrangement{
		{name: "postgres-tcp", routers: []router{ofTCP()}, clients: edge},
		{name: "postgres-tls", routers: []router{securedTCP()}, clients: postgres},
		{name: "postgres-tls-all", routers: []router{securedAll()}, clients: edge},
		{name: "postgres-through", routers: []router{throughA()}, clients: postgres},
		{name: "postgres-through-all", routers: []router{throughAll()}, clients: edge},
		{name: "postgres-tcp+tls", routers: []router{ofTCP(), securedTCP()}, clients: edge},
		{name: "postgres-tcp+through", routers: []router{ofTCP(), throughA()}, clients: edge},
		{name: "postgres-tls+tls-all", routers: []router{securedTCP(), securedAll()}, clients: postgres},
		{name: "postgres-tls+https", routers: []router{securedTCP(), securedHTTP()}, clients: postgres},
		{name: "postgres-tls-all+https-prefix", routers: []router{securedAll(), securedPrefix()}, clients: postgres},
		{name: "postgres-tcp+https", routers: []router{ofTCP(), securedHTTP()}, clients: edge},
		{name: "postgres-https", routers: []router{securedHTTP()}, clients: edge},
	}
}
