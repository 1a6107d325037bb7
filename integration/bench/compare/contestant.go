package main

import (
	"cmp"
	"context"
	"fmt"
)

// contestant is a proxy in a row.
type contestant struct {
	name string
	// program selects the configuration: nginx, haproxy, caddy or sluice.
	program string
	// relay selects the configuration with TCP and UDP routers.
	relay bool
	// binary is the path of the program; empty means the measured one.
	binary string
	// cores are those it may run on; environment is added to its own.
	cores       string
	environment []string
	// change modifies the row's job.
	change func(*job)
	// meanwhile, if set, runs during the measurement until its context is over, and returns what it did.
	meanwhile func(context.Context, *proxy) (string, error)
}

// job is the input of the configuration templates.
type job struct {
	// Dir is the temporary folder of the proxy.
	Dir string
	// User runs the processes, for nginx.
	User string
	// Plain, Secure and Through are the ports of the proxy. With TCP and UDP routers, Plain is for both, TLS ends at
	// Secure, and passes at Through.
	Plain, Secure, Through int
	// Descriptors is the limit of open files of a process; Connections the required number of connections.
	Descriptors, Connections int
	// Endpoints are the addresses of the service.
	Endpoints []string
	// Hosts are routed to the service; Prefix is an optional path prefix.
	Hosts  []string
	Prefix string
	// Middlewares adds middlewares that replace /outer/ by /inner/, and set a header in both directions.
	Middlewares bool
	// HTTP3 says that the TLS port serves HTTP/3, too.
	HTTP3 bool
	// Calls says that the endpoints speak gRPC.
	Calls bool
	// Encoding is Sluice's compression, GzipLevel that of nginx; "" and 0 mean none.
	Encoding  string
	GzipLevel int
	// Splice is haproxy's option splice-auto; StreamModule is the file of nginx's module.
	Splice       bool
	StreamModule string
	// LogLevel is that of Sluice.
	LogLevel string
	// Seen is Sluice's telemetry: metrics, push (of metrics), access log, traces, or none. Collector is the endpoint for
	// metrics and traces, which answers 200.
	Seen      string
	Collector string
}

// peers are the contestants of most rows.
func peers() []contestant {
	return []contestant{
		{name: "nginx", program: "nginx", cores: proxyCore},
		{name: "haproxy", program: "haproxy", cores: proxyCore},
		{name: "caddy", program: "caddy", cores: proxyCore, environment: []string{"GOMAXPROCS=1"}},
		sluice("sluice", 1),
	}
}

// sluice returns Sluice on the proxy's core, with a value of GOMAXPROCS.
func sluice(name string, processors int) contestant {
	return contestant{name: name, program: "sluice", cores: proxyCore, environment: []string{fmt.Sprintf("GOMAXPROCS=%d",
		processors)}}
}

// command returns the command that starts a proxy in its folder.
func (c contestant) command(sluice, dir string) []string {
	switch c.program {
	case "nginx":
		return []string{"nginx", "-e", "stderr", "-p", dir, "-c", dir + "/nginx.conf"}
	case "haproxy":
		return []string{"haproxy", "-db", "-f", dir + "/haproxy.cfg"}
	case "caddy":
		return []string{"caddy", "run", "--adapter", "caddyfile", "--config", dir + "/Caddyfile"}
	}
	return []string{cmp.Or(c.binary, sluice), "--configFile=" + dir + "/sluice.yaml"}
}

// files returns the names of the configurations of a contestant.
func (c contestant) files() []string {
	folder := ""
	if c.relay {
		folder = "relay/"
	}
	switch c.program {
	case "nginx":
		return []string{folder + "nginx.conf"}
	case "haproxy":
		return []string{folder + "haproxy.cfg"}
	case "caddy":
		return []string{"Caddyfile"}
	}
	return []string{folder + "sluice.yaml", folder + "dynamic.yaml"}
}

// on returns the contestant on other cores.
func (c contestant) on(cores string) contestant {
	c.cores = cores
	return c
}

// with returns the contestant with a modified job.
func (c contestant) with(change func(*job)) contestant {
	c.change = change
	return c
}

// reloading returns the contestant with a continually changing configuration.
func (c contestant) reloading() contestant {
	c.meanwhile = reload
	return c
}

// compressing are nginx and Sluice with compression, nginx at the level that matches Sluice's gzip and at its default.
func compressing() []contestant {
	nginx := func(name string, level int) contestant {
		return contestant{name: name, program: "nginx", cores: proxyCore, change: func(j *job) { j.GzipLevel = level }}
	}
	own := func(name, encoding string) contestant {
		return sluice(name, 1).with(func(j *job) { j.Encoding = encoding })
	}
	return []contestant{
		nginx("nginx", 6), nginx("nginx-1", 1), own("sluice-br", "br"), own("sluice-zstd", "zstd"),
		own("sluice", "gzip"),
	}
}

// observed are Sluice without and with telemetry.
func observed(name, seen string) []contestant {
	return []contestant{sluice("sluice-plain", 1), sluice(name, 1).with(func(j *job) { j.Seen = seen })}
}

// routers sets one router for each of n hosts.
func routers(n int) func(*job) {
	return func(j *job) { j.Hosts = hosts(n) }
}

// watched sets many routers, and the log level at which new tables are logged.
func watched(j *job) {
	routers(manyRouters)(j)
	j.Prefix, j.LogLevel = "/", "DEBUG"
}

// overUDP are the peers that serve HTTP/3.
func overUDP() []contestant {
	all := peers()[2:]
	for i := range all {
		all[i].change = func(j *job) { j.HTTP3 = true }
	}
	return all
}

// crowded are the peers with settings for many connections. Go's runtime logs its collections.
func crowded(connections int) []contestant {
	all := peers()
	for i := range all {
		all[i].environment = append(all[i].environment, "GODEBUG=gctrace=1")
		all[i].change = func(j *job) { j.Connections = connections }
	}
	return all
}
