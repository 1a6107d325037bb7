package main

// Bounds of rows for TCP and UDP routers, all compared with the best of the others.
const (
	mostOfBytes = 1.0
	mostOfRelay = 1.5
)

// relayed returns the rows for TCP and UDP routers.
func relayed() []row {
	bytes := []bound{{metric: cpuOfBytes, most: mostOfBytes, best: true}}
	each := []bound{{metric: cpu, most: mostOfRelay, best: true}}
	rows := []row{
		{
			name: "tcp-bytes-down", title: "TCP: many bytes from the server", must: bytes, contestants: splicing(),
			load: relay{kind: manyBytes, connections: 4},
		},
		{
			name: "tcp-bytes-up", title: "TCP: many bytes to the server", must: bytes, contestants: splicing(),
			load: relay{kind: manyBytes, connections: 4, up: true},
		},
		{
			name: "tcp-connections", title: "TCP: new connections", must: each,
			load: relay{kind: connections, connections: 64},
		},
		{
			name: "tcp-roundtrips", title: "TCP: round trips of one byte", must: each,
			load: relay{kind: roundTrips, connections: 64},
		},
		{
			name: "tls-termination", title: "TLS that ends at the proxy, TCP behind: new connections", must: each,
			load: relay{kind: connections, connections: 8, secure: true},
		},
		{
			name: "tls-termination-down", title: "TLS that ends at the proxy, TCP behind: many bytes from the server",
			must: bytes, load: relay{kind: manyBytes, connections: 4, secure: true},
		},
		{
			name: "tls-termination-up", title: "TLS that ends at the proxy, TCP behind: many bytes to the server",
			must: bytes, load: relay{kind: manyBytes, connections: 4, secure: true, up: true},
		},
		{
			name: "tls-passthrough", title: "TLS that passes, routed by its server name: new connections", must: each,
			load: relay{kind: connections, connections: 64, through: true},
		},
		{
			name: "udp-packets", title: "UDP: datagrams of 1,000 sessions", contestants: packets(),
			must: append(each[:1:1], bound{metric: unanswered, most: 0.1, absolute: true}),
			load: relay{kind: datagrams, connections: 1000},
		},
		{
			name: "tcp-idle", title: "TCP: memory and open files of an idle connection", load: held{connections: 10_000, relay: true},
			contestants: holding(12_000),
			must: []bound{
				{metric: rssEach, most: 6, absolute: true}, {metric: descriptorsEach, most: 2, absolute: true},
			},
		},
	}
	for i := range rows {
		rows[i].endpoint = relaying
		if rows[i].contestants == nil {
			rows[i].contestants = relays()
		}
	}
	return rows
}
