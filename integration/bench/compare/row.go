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
	// name selects the row; title says what it measures.
	name, title string
	load        load
	ask         ask
	// endpoint is who answers.
	endpoint endpoint
	// middlewares says that the proxy rewrites the path, and sets a header in both directions.
	middlewares bool
	// contestants are measured in this order. The first one is what the others are compared with.
	contestants []contestant
	// turns says that all contestants run side by side and are asked in short turns, each for so many times the time of a
	// measurement; 0 is one after the other. It is for contestants that differ by less than the machine from one second to
	// the next, and a load of wrk.
	turns int
	// must are the bounds that Sluice, the last one, must keep. The first one says by what the row is judged.
	must []bound
}

// how describes the load of a row, and whether it is sent in turns.
func (r row) how() string {
	if r.turns == 0 {
		return r.load.String()
	}
	return fmt.Sprintf("%s, side by side in turns of %v, %d times as long", r.load, turn, r.turns)
}

// load is a way to send requests.
type load interface {
	// run sends requests until the time is over, and says how the proxy did.
	run(ctx context.Context, at target) (outcome, error)
	// String describes the load for the page.
	String() string
}

// target is where a load goes.
type target struct {
	ask
	// plain and secure are the ports of the proxy on 127.0.0.1.
	plain, secure int
	// time is how long the load runs.
	time time.Duration
	// capacity is how many requests nginx answers in a second, for loads that are a share of it.
	capacity float64
	// hosts are what the proxy routes.
	hosts []string
	// folder is for temporary files; tools is where our own programs are.
	folder, tools string
	// started is told the process of a load of wrk; nil tells nobody.
	started func(load *os.Process)
}

// port returns the port of the proxy that is asked.
func (t target) port() int {
	if t.tls {
		return t.secure
	}
	return t.plain
}

// ask is a request, and what the right answer to it is.
type ask struct {
	path string
	tls  bool
	// body is how many bytes are sent; with a body the method is POST.
	body int
	// fields are header fields beside Host, as "Name: value".
	fields []string
	// length is that of the answer's body.
	length int64
	// encoded says that the answer is compressed; length is that of what it was.
	encoded bool
	// answer is a header field that the answer must have, as "Name: value"; count is how many it must have at least.
	answer string
	count  int
}

// outcome is what a load says.
type outcome struct {
	// requests is how many were answered; where answers are large, with the parts of those that were cut off.
	requests float64
	// perSecond is how many were answered in a second.
	perSecond float64
	// latencies of answered requests.
	p50, p99, p999 time.Duration
	// size is how many bytes an answer has with its head, where that is no matter of course; 0 elsewhere.
	size float64
	// raw is what the program printed.
	raw string
}

// endpoint is who answers a row's requests.
type endpoint int

const (
	// one is nginx on one address.
	one endpoint = iota
	// many is the same nginx on 500 addresses.
	many
	// reading is our own backend, which reads a body before it answers.
	reading
)

// bound is what Sluice must reach in a row.
type bound struct {
	// metric is what is bounded: as a ratio to the first contestant of the row, or by itself when it is absolute.
	metric   metric
	most     float64
	absolute bool
	// aim is what it should reach beyond that.
	aim string
}

// String tells the bound as the page does.
func (b bound) String() string {
	unit := " x"
	if b.absolute {
		unit = " " + b.metric.unit
	}
	text := fmt.Sprintf("≤ %.4g%s", b.most, unit)
	if b.aim != "" {
		text += ", aim " + b.aim
	}
	return text
}

// metric is one kind of number.
type metric struct {
	name, unit string
	// digits is how many are printed after the point.
	digits int
}

// The numbers of the page.
var (
	cpu       = metric{"CPU", "us", 1}
	rate      = metric{"requests/s", "", 0}
	p50       = metric{"p50", "ms", 3}
	p99       = metric{"p99", "ms", 3}
	p999      = metric{"p99.9", "ms", 3}
	memory    = metric{"RSS", "MiB", 1}
	size      = metric{"answer", "KiB", 2}
	busyProxy = metric{"core 0", "%", 0}
	busyLoad  = metric{"core 1", "%", 0}
	// strangers is how busy others than the proxy kept its core; the kernel's own threads are among them.
	strangers = metric{"others on core 0", "%", 0}
	// openedEach is for an idle connection before the load that makes Go programs collect, rssEach and heapEach after it.
	openedEach = metric{"RSS each, opened", "KiB", 2}
	rssEach    = metric{"RSS each", "KiB", 2}
	heapEach   = metric{"heap each", "KiB", 2}
)

// format prints a value without its unit.
func (m metric) format(value float64) string { return fmt.Sprintf("%.*f", m.digits, value) }

// host is the host that every request asks for, unless there are many.
const host = "bench.test"

// hostPattern makes the hosts when there are many.
const hostPattern = "h%05d.bench.test"

// hosts returns many hosts.
func hosts(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(hostPattern, i)
	}
	return all
}

// split cuts a header field into its name and value.
func split(field string) (name, value string) {
	name, value, _ = strings.Cut(field, ":")
	return name, strings.TrimSpace(value)
}
