package main

import (
	"slices"
	"strings"
)

// small is the length of the usual response.
const small = 128

// capacityRow is the row whose first round measures nginx's capacity. It precedes those that need it.
const capacityRow = "small"

// table returns all rows.
func table() []row {
	get := ask{path: "/small", length: small}
	secure := get
	secure.tls = true
	page := browser()
	page.tls = true
	closing := get
	closing.fields = []string{"Connection: close"}
	rows := []row{
		{
			name: "browser", title: "browser headers: 20 request and 15 response headers, a cookie of 1 KiB, answer of 1 KiB",
			load: closed{connections: 64},
			ask:  browser(), must: []bound{{metric: cpu, most: 1.25, aim: "< 1.0"}},
		},
		{
			name: "small", title: "keep-alive small GET", load: closed{connections: 64}, ask: get,
			must: []bound{{metric: cpu, most: 1.2, aim: "< 1.0"}},
		},
		{
			name: "small-512", title: "keep-alive small GET, 512 connections", load: closed{connections: 512}, ask: get,
			must: []bound{{metric: cpu, most: 1.25, aim: "< 1.0"}},
		},
		{
			name: "post", title: "16 KiB POST", load: closed{connections: 64}, endpoint: reading,
			ask: ask{path: "/post", body: 16 << 10, length: small}, must: []bound{{metric: cpu, most: 1.3, aim: "< 1.0"}},
		},
		{
			name: "answer-64k", title: "64 KiB response", load: closed{connections: 64},
			ask: ask{path: "/64k", length: 64 << 10}, must: []bound{{metric: cpu, most: 1.2, aim: "< 1.0"}},
		},
		{
			name: "answer-10m", title: "10 MiB response", load: closed{connections: 8, byBytes: true},
			ask: ask{path: "/10m", length: 10 << 20}, must: []bound{{metric: cpu, most: 1, aim: "< 0.6"}},
		},
		{
			name: "tls", title: "TLS, HTTP/1.1 keep-alive small GET", load: closed{connections: 64}, ask: secure,
			must: []bound{{metric: cpu, most: 1.3, aim: "< 1.1"}},
		},
		{
			name: "http2", title: "HTTP/2 with TLS, small GET", load: streams{connections: 16, each: 4}, ask: secure,
			must: []bound{{metric: cpu, most: 1.4, aim: "< 1.0"}},
		},
		{
			name: "http2-browser-64", title: "HTTP/2 with TLS, browser headers, one stream of 64 connections each",
			load: streams{connections: 64, each: 1}, ask: page,
			must: []bound{{metric: cpu, most: 1.5, aim: "< 1.0"}},
		},
		{
			name: "http2-browser-8", title: "HTTP/2 with TLS, browser headers, 32 streams of 8 connections each",
			load: streams{connections: 8, each: 32}, ask: page,
			must: []bound{{metric: cpu, most: 1.5, aim: "< 1.0"}},
		},
		{
			name: "http3", title: "HTTP/3, small GET", load: overHTTP3{connections: 16, each: 4}, ask: secure,
			contestants: overUDP(), must: []bound{{metric: cpu, most: 1}},
		},
		{
			name: "http3-1m", title: "HTTP/3, 1 MiB response", load: overHTTP3{connections: 8, each: 1},
			ask: ask{path: "/1m", tls: true, length: 1 << 20}, contestants: overUDP(), must: []bound{{metric: cpu, most: 1}},
		},
		{
			name: "http2-1m", title: "HTTP/2 with TLS, 1 MiB response", load: streams{connections: 8, each: 1},
			ask: ask{path: "/1m", tls: true, length: 1 << 20},
		},
		{
			name: "grpc", title: "gRPC, unary calls of 128 bytes, HTTP/2 on both sides",
			load: streams{connections: 8, each: 8}, endpoint: calling, ask: ask{
				path: "/bench.Service/Call", tls: true, multiplexed: true, body: small, length: small,
				fields: []string{"Content-Type: application/grpc", "TE: trailers"},
			},
			must: []bound{{metric: cpu, most: 1.2, best: true, aim: "< 1.0"}},
		},
		{
			name: "middlewares", title: "three middlewares: strip a prefix, add a prefix, set headers in both directions",
			load: closed{connections: 64},
			ask:  ask{path: "/outer/small", length: small, answer: "X-Served-By: edge"}, middlewares: true,
		},
		{
			name: "compress", title: "a page of 64 KiB, compressed with gzip, Brotli and Zstandard",
			load: closed{connections: 4},
			ask: ask{
				path: "/page", length: pageBytes, encoded: true,
				fields: []string{"Accept-Encoding: gzip, deflate, br, zstd"},
			}, contestants: compressing(),
		},
		{name: "new-connections", title: "a new connection for each request", load: closed{connections: 64}, ask: closing},
		{
			name: "chunked", title: "16 KiB response in chunks of 4 KiB", load: closed{connections: 64}, endpoint: reading,
			ask: ask{path: "/chunked", length: 16 << 10},
		},
		{
			name: "upstream-closes", title: "the endpoint closes after each answer", load: closed{connections: 64},
			ask: ask{path: "/close", length: small},
		},
		{name: "endpoints-500", title: "500 endpoints", load: closed{connections: 64}, endpoint: many, ask: get},
		{name: "handshakes", title: "full TLS handshakes", load: shaken{connections: 8}, ask: secure},
		{name: "resumed", title: "resumed TLS handshakes", load: shaken{connections: 8, resume: true}, ask: secure},
		{
			name: "latency-25", title: "latency at a quarter of nginx's capacity", load: open{connections: 64, share: 0.25},
			ask: get, must: []bound{{metric: p99, most: 1.5}},
		},
		{
			name: "latency-50", title: "latency at half of nginx's capacity", load: open{connections: 64, share: 0.5}, ask: get,
			must: []bound{{metric: p99, most: 1.5}},
		},
		{
			name: "processors", title: "GOMAXPROCS 1, 2 on the same core, 2 on both cores", load: closed{connections: 64},
			ask: get,
			contestants: []contestant{sluice("sluice", 1), sluice("sluice-2", 2), sluice("sluice-2-cores", 2).on(proxyCore +
				"," + loadCore)},
		},
		{
			name: "routers", title: "10,000 routers against one, 1,000 hosts in turns", load: closed{
				connections: 64,
				spread:      true,
			}, ask: get,
			contestants: []contestant{
				sluice("sluice-1", 1).with(routers(1)),
				sluice("sluice-10000", 1).with(routers(manyRouters)),
			},
			must: []bound{{metric: cpu, most: 1.05, aim: "1.0"}},
		},
		{
			name: "reload", title: "10,000 routers, without changes and with all of them changing every second",
			load: open{connections: 64, share: 0.25}, ask: get,
			contestants: []contestant{sluice("sluice-10000", 1).with(watched), sluice("sluice-reloads",
				1).with(watched).reloading()},
		},
		{
			name: "http2-idle", title: "memory of an idle connection of HTTP/2 over TLS", ask: get,
			load: held{connections: 10_000, multiplexed: true}, contestants: crowded(12_000),
			must: []bound{{metric: rssEach, most: 12, absolute: true}},
		},
		{
			name: "idle", title: "memory of an idle connection", load: held{connections: 10_000}, ask: get,
			contestants: crowded(12_000),
			must: []bound{{metric: rssEach, most: 8, absolute: true, aim: "≤ 4"}, {
				metric: heapEach, most: 8, absolute: true,
				aim: "≤ 4",
			}},
		},
	}
	for i := range rows {
		if rows[i].contestants == nil {
			rows[i].contestants = peers()
		}
	}
	return slices.Concat(rows, seen(get), relayed())
}

// browser is a typical request of a browser and its response: with Host it has 20 fields.
func browser() ask {
	return ask{path: "/browser", length: 1 << 10, count: 15, fields: []string{
		"Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
		"Accept-Encoding: gzip, deflate, br, zstd",
		"Accept-Language: en-GB,en;q=0.9,de;q=0.7",
		"Cache-Control: max-age=0",
		"Connection: keep-alive",
		"Cookie: session=" + strings.Repeat("c", 1<<10-len("session=")),
		"DNT: 1",
		`If-None-Match: "5f3c9a7be2d13"`,
		"Priority: u=0, i",
		"Referer: https://bench.test/list?page=3",
		`Sec-CH-UA: "Chromium";v="140", "Not=A?Brand";v="24"`,
		"Sec-CH-UA-Mobile: ?0",
		`Sec-CH-UA-Platform: "Linux"`,
		"Sec-Fetch-Dest: document",
		"Sec-Fetch-Mode: navigate",
		"Sec-Fetch-Site: same-origin",
		"Sec-Fetch-User: ?1",
		"Upgrade-Insecure-Requests: 1",
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
	}}
}
