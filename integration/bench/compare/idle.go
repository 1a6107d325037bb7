package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// held are connections that are idle after one request each, or on a TCP router after one byte.
type held struct {
	connections int
	// relay selects the TCP router, multiplexed HTTP/2 over TLS.
	relay, multiplexed bool
}

const (
	// collections is the number of garbage collections of a Go program before its memory is read.
	collections = 2
	// settle is the time for the runtime to return memory to the kernel.
	settle = time.Second
	// filling is the length of a header field of that load, which every proxy accepts.
	filling = 7 << 10
	// otherFiles is the number of files that a proxy may have open beside those of connections.
	otherFiles = 500
	// mostStirs is the maximum number of loads that trigger collections.
	mostStirs = 16
)

// String describes the load.
func (h held) String() string {
	if h.relay {
		return fmt.Sprintf("%d idle connections, or as many as the limit of open files allows, each after one byte; then "+
			"%v until there were %d collections", h.connections, relay{kind: connections, connections: 8}, collections)
	}
	if h.multiplexed {
		return fmt.Sprintf("%d idle connections of HTTP/2 over TLS, each after a request; then wrk -t1 -c8 with heads of 7 KiB "+
			"until there were %d collections", h.connections, collections)
	}
	return fmt.Sprintf("%d idle connections, each after a request with a head of 1 KiB; then wrk -t1 -c8 with heads "+
		"of 7 KiB until there were %d collections", h.connections, collections)
}

// check is that of a TCP router, or of the row's request.
func (h held) check(ctx context.Context, at target) error {
	if h.relay {
		return relay{kind: roundTrips}.check(ctx, at)
	}
	return at.check(ctx)
}

// run is not used: see measure.
func (h held) run(context.Context, target) (outcome, error) {
	return outcome{}, errors.New("idle connections answer nothing")
}

// measure compares the memory without and with the connections, each after the same load and collections.
func (h held) measure(ctx context.Context, p *proxy, at target) (map[metric]float64, string, error) {
	if h.relay {
		h.connections = min(h.connections, (p.job.Descriptors-otherFiles)/2)
	}
	before, err := h.stir(ctx, p, at)
	if err != nil {
		return nil, "", err
	}
	files, err := openFiles(p.pid())
	if err != nil {
		return nil, "", err
	}
	at.time = 2 * time.Minute // The clients are stopped earlier.
	port := at.plain
	if h.multiplexed {
		port = at.secure
	}
	clients, err := start(at.folder, "idle", loadCore, nil, at.own("idle", port, "-connections",
		fmt.Sprint(h.connections), fmt.Sprintf("-stream=%v", h.relay), fmt.Sprintf("-http2=%v", h.multiplexed))...)
	if err != nil {
		return nil, "", err
	}
	defer clients.stop()
	err = clients.ready(ctx, 60*time.Second, func(context.Context) error {
		if !strings.Contains(clients.last(), "ready") {
			return errors.New("some connections are not idle yet")
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	opened, err := resident(p.pid())
	if err != nil {
		return nil, "", err
	}
	more, err := openFiles(p.pid())
	if err != nil {
		return nil, "", err
	}
	at.time = warmUp
	after, err := h.stir(ctx, p, at)
	if err != nil {
		return nil, "", err
	}
	clients.stop()
	counts, err := resultLine("load ", clients.last())
	if err != nil || counts["open"] != float64(h.connections) {
		return nil, "", fmt.Errorf("%.0f of %d connections stayed open: %w", counts["open"], h.connections, err)
	}
	each := func(kilobytes float64) float64 { return kilobytes / float64(h.connections) }
	values := map[metric]float64{
		memory: after.resident / 1024, openedEach: each(opened - before.resident),
		rssEach: each(after.resident - before.resident),
	}
	if after.collections > 0 {
		values[heapEach] = each(after.heap - before.heap)
	}
	if h.relay {
		values[descriptorsEach] = each(more - files)
	}
	raw := fmt.Sprintf("before: %s, %.0f open files\nopened %d: resident %.0f KiB, %.0f open files\nafter: %s", before, files,
		h.connections, opened, more, after)
	return values, raw, nil
}

// use is the memory of a proxy in KiB.
type use struct {
	resident float64
	// heap is the live heap after the last collection, and the stacks of goroutines.
	heap float64
	// collections is their number; 0 for other programs.
	collections int
}

// String formats the memory.
func (u use) String() string {
	text := fmt.Sprintf("resident %.0f KiB", u.resident)
	if u.collections > 0 {
		text += fmt.Sprintf(", %.0f KiB of heap and stacks after collection %d", u.heap, u.collections)
	}
	return text
}

// stir sends load until a Go program has collected its garbage, and returns its memory.
func (h held) stir(ctx context.Context, p *proxy, at target) (use, error) {
	at.time = warmUp
	// Small requests would trigger collections too rarely.
	at.fields = append(slices.Clone(at.fields), "X-Fill: "+strings.Repeat("f", filling))
	var load load = closed{connections: 8}
	if h.relay {
		load = relay{kind: connections, connections: 8}
	}
	first := -1
	for range mostStirs {
		if _, err := load.run(ctx, at); err != nil {
			return use{}, err
		}
		text, err := os.ReadFile(p.output)
		if err != nil {
			return use{}, err
		}
		count, heap, err := collected(string(text))
		if err != nil {
			return use{}, err
		}
		if first < 0 && count > 0 {
			first = count // Those of the first second may have begun earlier.
		}
		if count > 0 && count < first+collections {
			continue
		}
		if err := pause(ctx, settle); err != nil {
			return use{}, err
		}
		kilobytes, err := resident(p.pid())
		return use{resident: kilobytes, heap: heap, collections: count}, err
	}
	return use{}, fmt.Errorf("%s did not collect its garbage:\n%s", p.name, p.last())
}

// collection is a line that Go's runtime prints with GODEBUG=gctrace=1.
var collection = regexp.MustCompile(`(?m)^gc (\d+) @.* \d+->\d+->(\d+) MB, .* (\d+) MB stacks`)

// collected returns the number of collections in a Go program's log, and the result of the last one: live heap and
// stacks, in KiB.
func collected(text string) (count int, heap float64, err error) {
	lines := collection.FindAllStringSubmatch(text, -1)
	if len(lines) == 0 {
		return 0, 0, nil
	}
	last := lines[len(lines)-1]
	if count, err = strconv.Atoi(last[1]); err != nil {
		return 0, 0, err
	}
	for _, number := range last[2:] {
		megabytes, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, 0, err
		}
		heap += megabytes * 1024
	}
	return count, heap, nil
}

func pause(ctx context.Context, how time.Duration) error {
	timer := time.NewTimer(how)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
