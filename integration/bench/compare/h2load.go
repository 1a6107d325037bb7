package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// streams is a closed loop of h2load: HTTP/2 with several concurrent requests on each connection.
type streams struct{ connections, each int }

// String describes the load.
func (s streams) String() string {
	return fmt.Sprintf("h2load -c%d -m%d", s.connections, s.each)
}

// run runs h2load.
func (s streams) run(ctx context.Context, at target) (outcome, error) {
	log := filepath.Join(at.folder, "h2load.log")
	argv := []string{
		"h2load", fmt.Sprintf("-c%d", s.connections), fmt.Sprintf("-m%d", s.each), "-t1",
		fmt.Sprintf("-D%.0f", at.time.Seconds()),
		"--log-file=" + log, fmt.Sprintf("--connect-to=127.0.0.1:%d", at.port()),
	}
	for _, field := range at.fields {
		if name, value := split(field); name != "Connection" {
			argv = append(argv, "-H"+name+": "+value)
		}
	}
	defer func() { _ = os.Remove(log) }()
	if at.body > 0 {
		body := filepath.Join(at.folder, "h2load.body")
		if err := os.WriteFile(body, bytes.Repeat([]byte("x"), at.body), 0o600); err != nil {
			return outcome{}, err
		}
		defer func() { _ = os.Remove(body) }()
		argv = append(argv, "-d"+body)
	}
	argv = append(argv, "https://"+host+at.path)
	printed, err := followed(ctx, at.folder, at.time+30*time.Second, at.started, argv...)
	if err != nil {
		return outcome{}, err
	}
	done, perSecond, err := h2loadCounts(printed)
	if err != nil {
		return outcome{}, err
	}
	text, err := os.ReadFile(log)
	if err != nil {
		return outcome{}, err
	}
	latencies, err := h2loadLatencies(string(text))
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		requests: done, perSecond: perSecond, raw: printed,
		p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), p999: quantile(latencies, 0.999),
	}, nil
}

// Relevant lines of h2load's output.
var (
	h2loadFinished = regexp.MustCompile(`(?m)^finished in [0-9.]+m?s, ([0-9.]+) req/s`)
	h2loadRequests = regexp.MustCompile(`(?m)^requests: (\d+) total, \d+ started, (\d+) done, (\d+) succeeded, (\d+) ` +
		`failed, (\d+) errored, (\d+) timeout`)
	h2loadStatus   = regexp.MustCompile(`(?m)^status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx`)
	h2loadProtocol = regexp.MustCompile(`(?m)^Application protocol: h2$`)
)

// h2loadCounts returns the number of responses, and the rate. It fails if a response was wrong or not HTTP/2. Requests
// that were cut off by the end are not counted.
func h2loadCounts(printed string) (done, perSecond float64, err error) {
	finished := h2loadFinished.FindStringSubmatch(printed)
	requests := h2loadRequests.FindStringSubmatch(printed)
	status := h2loadStatus.FindStringSubmatch(printed)
	if finished == nil || requests == nil || status == nil || !h2loadProtocol.MatchString(printed) {
		return 0, 0, fmt.Errorf("h2load printed no result of HTTP/2:\n%s", printed)
	}
	if slices.ContainsFunc(append(requests[4:], status[2:]...), func(count string) bool {
		return count != "0"
	}) || requests[3] == "0" {
		return 0, 0, fmt.Errorf("h2load counted errors:\n%s", printed)
	}
	if done, err = strconv.ParseFloat(requests[3], 64); err != nil {
		return 0, 0, err
	}
	perSecond, err = strconv.ParseFloat(finished[1], 64)
	return done, perSecond, err
}

// h2loadLatencies parses the log of h2load: a line for each request with its start, its status and its time, in
// microseconds.
func h2loadLatencies(text string) ([]time.Duration, error) {
	var all []time.Duration
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("h2load logged %q", line)
		}
		microseconds, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("h2load logged %q: %w", line, err)
		}
		all = append(all, time.Duration(microseconds)*time.Microsecond)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("h2load logged no request")
	}
	slices.Sort(all)
	return all, nil
}

// quantile returns a quantile of sorted values.
func quantile(sorted []time.Duration, share float64) time.Duration {
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}
