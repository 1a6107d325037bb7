package main

import (
	"cmp"
	"context"
	"fmt"
)

// contestant is a proxy as a row measures it.
type contestant struct {
	name string
	// program is whose configuration it has: nginx, haproxy, caddy or sluice.
	program string
	// binary is the path of the program; empty means the one that is measured.
	binary string
	// cores are where it may run; environment is added to its own.
	cores       string
	environment []string
	// change makes its job another one than that of the row.
	change func(*job)
	// meanwhile, if there is one, goes on while it is measured until its context is over. It says what it did.
	meanwhile func(context.Context, *proxy) (string, error)
}

// job is what the configurations are made from.
type job struct {
	// Dir is the temporary folder of one proxy.
	Dir string
	// User runs the processes, for nginx.
	User string
	// Plain and Secure are the ports to listen on.
	Plain, Secure int
	// Descriptors is how many a process may have; Connections how many connections a proxy must be able to hold.
	Descriptors, Connections int
	// Endpoints are the addresses of the service.
	Endpoints []string
	// Hosts are routed to the service; Prefix is that of their paths, if there is one.
	Hosts  []string
	Prefix string
	// Middlewares says that /outer/ becomes /inner/, and that a header is set in both directions.
	Middlewares bool
	// Encoding is what Sluice compresses answers with, and GzipLevel how much effort nginx makes; "" and 0 for not at all.
	Encoding  string
	GzipLevel int
	// LogLevel is that of Sluice.
	LogLevel string
	// Seen is what Sluice tells of requests: metrics, push (metrics that it sends), access log, traces, or nothing.
	// Collector is where metrics and traces go: whoever reads a body and answers 200.
	Seen      string
	Collector string
}

// peers are those that most rows compare.
func peers() []contestant {
	return []contestant{
		{name: "nginx", program: "nginx", cores: proxyCore},
		{name: "haproxy", program: "haproxy", cores: proxyCore},
		{name: "caddy", program: "caddy", cores: proxyCore, environment: []string{"GOMAXPROCS=1"}},
		sluice("sluice", 1),
	}
}

// sluice returns Sluice on the proxy's core, with a number of threads that may run at once.
func sluice(name string, processors int) contestant {
	return contestant{name: name, program: "sluice", cores: proxyCore, environment: []string{fmt.Sprintf("GOMAXPROCS=%d",
		processors)}}
}

// command returns how a proxy is started in its folder.
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
	switch c.program {
	case "nginx":
		return []string{"nginx.conf"}
	case "haproxy":
		return []string{"haproxy.cfg"}
	case "caddy":
		return []string{"Caddyfile"}
	}
	return []string{"sluice.yaml", "dynamic.yaml"}
}

// on returns the contestant on other cores.
func (c contestant) on(cores string) contestant {
	c.cores = cores
	return c
}

// with returns the contestant with another job than that of its row.
func (c contestant) with(change func(*job)) contestant {
	c.change = change
	return c
}

// reloading returns the contestant with its configuration changing all the time.
func (c contestant) reloading() contestant {
	c.meanwhile = reload
	return c
}

// compressing are nginx and Sluice compressing, nginx at the level that Sluice's gzip amounts to and at its default.
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

// observed are Sluice that tells nothing of requests, and Sluice that tells something.
func observed(name, seen string) []contestant {
	return []contestant{sluice("sluice-plain", 1), sluice(name, 1).with(func(j *job) { j.Seen = seen })}
}

// routers gives a job one router for each of n hosts.
func routers(n int) func(*job) {
	return func(j *job) { j.Hosts = hosts(n) }
}

// watched is a job with many routers, whose log tells when a table is put to work.
func watched(j *job) {
	routers(manyRouters)(j)
	j.Prefix, j.LogLevel = "/", "DEBUG"
}

// crowded are the peers with a place for many connections. Go's runtime tells what it collects.
func crowded(connections int) []contestant {
	all := peers()
	for i := range all {
		all[i].environment = append(all[i].environment, "GODEBUG=gctrace=1")
		all[i].change = func(j *job) { j.Connections = connections }
	}
	return all
}
