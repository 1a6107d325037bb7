package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// row is one line of the comparison: the same load on each of its contestants.
type row struct {
	// name selects the row; title describes it.
	name, title string
	load        load
	ask         ask
	// endpoint is the kind of endpoint.
	endpoint endpoint
	// middlewares adds middlewares that rewrite the path, and set a header in both directions.
	middlewares bool
	// contestants are measured in this order. The others are compared with the first one.
	contestants []contestant
	// turns, if not 0, runs all contestants side by side with the load in short turns, for this number of measurements
	// each. It is for contestants that differ by less than the machine's noise, and needs a load of wrk.
	turns int
	// must are the bounds of Sluice, the last contestant. The first bound decides the row.
	must []bound
}

// how describes the load of a row and its turns.
func (r row) how() string {
	if r.turns == 0 {
		return r.load.String()
	}
	return fmt.Sprintf("%s, side by side in turns of %v, %d times as long", r.load, turn, r.turns)
}

// load generates requests.
type load interface {
	// run sends requests until the time is over, and returns the results.
	run(ctx context.Context, at target) (outcome, error)
	// String describes the load for the page.
	String() string
}

// target is the destination of a load.
type target struct {
	ask
	// plain, secure and through are the ports of the proxy on 127.0.0.1, as those of the job.
	plain, secure, through int
	// time is the duration of the load.
	time time.Duration
	// capacity is nginx's capacity in requests per second, for relative loads.
	capacity float64
	// hosts are the routed hosts.
	hosts []string
	// folder is for temporary files; tools is the folder of our own programs.
	folder, tools string
	// started, if not nil, is called with the process of a load that can take turns.
	started func(load *os.Process)
}

// port returns the port of the proxy for the row.
func (t target) port() int {
	if t.tls {
		return t.secure
	}
	return t.plain
}

// ask is a request with its expected response.
type ask struct {
	path string
	tls  bool
	// multiplexed says that the request is one of HTTP/2.
	multiplexed bool
	// body is the length of the request body; with a body the method is POST.
	body int
	// fields are header fields beside Host, as "Name: value".
	fields []string
	// length is that of the response body.
	length int64
	// encoded means that the response is compressed; length is that of the original.
	encoded bool
	// answer is a header field of the response, as "Name: value"; count is its minimum number of fields.
	answer string
	count  int
}

// checker is a load with a check of its own before the measurement, instead of the row's request.
type checker interface {
	check(ctx context.Context, at target) error
}

// outcome is the result of a load.
type outcome struct {
	// requests is the number of responses; with large responses, including parts of those that were cut off. A load on a
	// TCP or UDP router counts what it consists of: connections, round trips or datagrams.
	requests float64
	// bytes, if not 0, are counted instead of requests, for perSecond too.
	bytes float64
	// sent, if not 0, is the number of datagrams, of which requests were answered.
	sent float64
	// perSecond is the rate of responses.
	perSecond float64
	// latencies of answered requests.
	p50, p99, p999 time.Duration
	// size is the length of a response with its head, if measured; otherwise 0.
	size float64
	// raw is what the program printed.
	raw string
}

// endpoint is a kind of endpoint.
type endpoint int

const (
	// one is nginx on one address.
	one endpoint = iota
	// many is the same nginx on 500 addresses.
	many
	// reading is our own backend, which reads request bodies before it answers.
	reading
	// relaying is the same program with the protocol of package wire, by TCP and UDP.
	relaying
	// calling is the same program with unary gRPC calls over HTTP/2 without TLS.
	calling
)

// bound is a requirement for Sluice in a row.
type bound struct {
	// metric is what is bounded: as a ratio to the first contestant of the row, or if absolute by itself.
	metric   metric
	most     float64
	absolute bool
	// best makes it a ratio to the contestant with the least median instead of the first one.
	best bool
	// aim is a stricter goal.
	aim string
}

// String formats the bound for the page.
func (b bound) String() string {
	unit := " x"
	switch {
	case b.absolute:
		unit = " " + b.metric.unit
	case b.best:
		unit = " x the best"
	}
	text := fmt.Sprintf("≤ %.4g%s", b.most, unit)
	if b.aim != "" {
		text += ", aim " + b.aim
	}
	return text
}

// metric is a kind of number.
type metric struct {
	name, unit string
	// digits is the number of printed decimals.
	digits int
}

// Metrics of the page.
var (
	cpu  = metric{"CPU", "us", 1}
	rate = metric{"requests/s", "", 0}
	// cpuOfBytes and bytesRate take their place for loads of many bytes.
	cpuOfBytes = metric{"CPU for a GiB", "s", 3}
	bytesRate  = metric{"GiB/s", "", 2}
	unanswered = metric{"unanswered", "%", 2}
	p50        = metric{"p50", "ms", 3}
	p99        = metric{"p99", "ms", 3}
	p999       = metric{"p99.9", "ms", 3}
	memory     = metric{"RSS", "MiB", 1}
	size       = metric{"answer", "KiB", 2}
	busyProxy  = metric{"core 0", "%", 0}
	busyLoad   = metric{"core 1", "%", 0}
	// strangers is the usage of the proxy's core by others, including kernel threads.
	strangers = metric{"others on core 0", "%", 0}
	// openedEach is per idle connection before the load that triggers collections, rssEach and heapEach after it.
	openedEach = metric{"RSS each, opened", "KiB", 2}
	rssEach    = metric{"RSS each", "KiB", 2}
	heapEach   = metric{"heap each", "KiB", 2}
	// descriptorsEach are open files per idle connection, before that load.
	descriptorsEach = metric{"files each", "", 2}
)

// metrics returns all metrics in the order of the page.
func metrics() []metric {
	return []metric{
		cpu, rate, cpuOfBytes, bytesRate, p50, p99, p999, unanswered, size, memory, openedEach, rssEach, heapEach,
		descriptorsEach, busyProxy, strangers, busyLoad,
	}
}

// compared reports whether the page has a column of a metric's ratios.
func (m metric) compared() bool { return m == cpu || m == cpuOfBytes || m == p99 }

// format prints a value without its unit.
func (m metric) format(value float64) string { return fmt.Sprintf("%.*f", m.digits, value) }

// host is the request's host, unless there are many.
const host = "bench.test"

// hostPattern is the pattern of many hosts.
const hostPattern = "h%05d.bench.test"

// hosts returns many hosts.
func hosts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(hostPattern, i)
	}
	return all
}

// split splits a header field into name and value.
func split(field string) (name, value string) {
	name, value, _ = strings.Cut(field, ":")
	return name, strings.TrimSpace(value)
}
