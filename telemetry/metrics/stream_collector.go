package metrics

import "github.com/prometheus/client_golang/prometheus"

// streamCollector exposes what Streams have counted.
type streamCollector struct {
	streams                                     *Streams
	connections, tcpBytes, durations, undialled *prometheus.Desc
	sessions, udpBytes, datagrams               *prometheus.Desc
}

func newStreamCollector(streams *Streams) *streamCollector {
	describe := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append([]string{"entrypoint", "router", "service"}, more...), nil)
	}
	return &streamCollector{
		streams: streams,
		connections: describe("sluice_tcp_connections_total",
			"Connections of TCP routers that have ended, by why they ended.", "end"),
		tcpBytes: describe("sluice_tcp_bytes_total",
			"Bytes of ended connections of TCP routers, received from clients and sent to them.", "direction"),
		undialled: describe("sluice_tcp_dial_errors_total",
			"Endpoints of TCP services that could not be connected to for a connection."),
		durations: prometheus.NewDesc("sluice_tcp_connection_duration_seconds",
			"How long connections of TCP routers were open.", []string{"router"}, nil),
		sessions: describe("sluice_udp_sessions_total", "Sessions of UDP routers that have ended, by why they ended.", "end"),
		udpBytes: describe("sluice_udp_bytes_total",
			"Bytes of ended sessions of UDP routers, received from clients and sent to them.", "direction"),
		datagrams: describe("sluice_udp_datagrams_total",
			"Datagrams of ended sessions of UDP routers, received from clients and sent to them.", "direction"),
	}
}

// Describe sends the descriptions.
func (c *streamCollector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		c.connections, c.tcpBytes, c.undialled, c.durations, c.sessions, c.udpBytes, c.datagrams,
	} {
		to <- desc
	}
}

// Collect sends the counts.
func (c *streamCollector) Collect(to chan<- prometheus.Metric) {
	routers := map[string]*streamCounts{}
	for _, series := range c.streams.list() {
		counts := series.read()
		c.collect(to, series, &counts)
		if series.datagrams {
			continue
		}
		if sum := routers[series.router]; sum != nil {
			sum.seconds += counts.seconds
			for i, count := range counts.buckets {
				sum.buckets[i] += count
			}
			continue
		}
		routers[series.router] = &counts
	}
	bounds := streamBuckets()
	for router, counts := range routers {
		buckets, below := make(map[float64]uint64, len(bounds)), uint64(0)
		for i, bound := range bounds {
			below += counts.buckets[i]
			buckets[bound] = below
		}
		to <- prometheus.MustNewConstHistogram(c.durations, counts.total(), counts.seconds, buckets, text(router))
	}
}

// collect sends the counters of one series.
func (c *streamCollector) collect(to chan<- prometheus.Metric, s *streamSeries, counts *streamCounts) {
	send := func(desc *prometheus.Desc, count uint64, more ...string) {
		labels := append([]string{text(s.entrypoint), text(s.router), text(s.service)}, more...)
		to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(count), labels...)
	}
	ended, bytes := c.connections, c.tcpBytes
	if s.datagrams {
		ended, bytes = c.sessions, c.udpBytes
		send(c.datagrams, counts.datagramsReceived, "received")
		send(c.datagrams, counts.datagramsSent, "sent")
	} else {
		send(c.undialled, counts.undialled)
	}
	for end, count := range counts.ends {
		send(ended, count, text(end))
	}
	send(bytes, counts.bytesReceived, "received")
	send(bytes, counts.bytesSent, "sent")
}

// DatagramServer is the state of the UDP sockets of an entrypoint.
type DatagramServer struct {
	EntryPoint string
	// Sessions counts the sessions that are open.
	Sessions int
	// Dropped counts the datagrams that were dropped so far, by cause.
	Dropped map[string]uint64
}

// DatagramServers reads the sessions and the dropped datagrams of all UDP entrypoints at each scrape. It is registered
// at most once, and servers may be called from any goroutine.
func DatagramServers(servers func() []DatagramServer) []prometheus.Collector {
	return []prometheus.Collector{
		gauges{
			prometheus.NewDesc("sluice_udp_sessions_open", "Sessions that are open on a UDP entrypoint.",
				[]string{"entrypoint"}, nil),
			func(set func(value float64, labels ...string)) {
				for _, server := range servers() {
					set(float64(server.Sessions), text(server.EntryPoint))
				}
			},
		},
		counters{
			prometheus.NewDesc("sluice_udp_dropped_total", "Datagrams that were dropped on a UDP entrypoint, by cause.",
				[]string{"entrypoint", "cause"}, nil),
			func(set func(value float64, labels ...string)) {
				for _, server := range servers() {
					for cause, count := range server.Dropped {
						set(float64(count), text(server.EntryPoint), text(cause))
					}
				}
			},
		},
	}
}

// counters is a family of counters that are read at each scrape.
type counters gauges

// Describe sends the description of the family.
func (c counters) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect sends the counters as they are now.
func (c counters) Collect(to chan<- prometheus.Metric) {
	c.read(func(value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.CounterValue, value, labels...)
	})
}
