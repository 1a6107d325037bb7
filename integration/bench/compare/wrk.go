package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// wrk scripts: the request, and the output at the end.
var (
	//go:embed same.lua
	sameScript string
	//go:embed hosts.lua
	hostsScript string
	//go:embed report.lua
	reportScript string
)

// closed is a closed loop of wrk: every connection sends the next request after a response.
type closed struct {
	connections int
	// byBytes counts large responses by their bytes, including those that are cut off by the end.
	byBytes bool
	// spread sends requests to 1,000 hosts in turns.
	spread bool
}

// String describes the load.
func (c closed) String() string {
	return fmt.Sprintf("wrk -t1 -c%d", c.connections)
}

// run runs wrk.
func (c closed) run(ctx context.Context, at target) (outcome, error) {
	script := filepath.Join(at.folder, "wrk.lua")
	text := sameScript
	if c.spread {
		text = hostsScript
	}
	if err := os.WriteFile(script, []byte(text+reportScript), 0o600); err != nil {
		return outcome{}, err
	}
	scheme := "http"
	if at.tls {
		scheme = "https"
	}
	argv := []string{
		"wrk", "-t1", fmt.Sprintf("-c%d", c.connections), fmt.Sprintf("-d%.0fs", at.time.Seconds()), "--timeout", "10s", "-s",
		script,
		fmt.Sprintf("%s://127.0.0.1:%d%s", scheme, at.port(), at.path), "--",
	}
	if c.spread {
		argv = append(argv, "host="+hostPattern, fmt.Sprintf("step=%d", len(at.hosts)/1000))
	} else {
		argv = append(argv, "Host="+host)
		for _, field := range at.fields {
			name, value := split(field)
			argv = append(argv, name+"="+value)
		}
		if at.body > 0 {
			argv = append(argv, fmt.Sprintf("body=%d", at.body))
		}
	}
	printed, err := followed(ctx, at.folder, at.time+30*time.Second, at.started, argv...)
	if err != nil {
		return outcome{}, err
	}
	values, err := resultLine("bench ", printed)
	if err != nil {
		return outcome{}, err
	}
	out, err := c.outcome(values, at.length, printed)
	if err == nil && at.encoded {
		out.size = values["bytes"] / out.requests
	}
	return out, err
}

// outcome converts the counts of wrk. Any error is one of the row.
func (c closed) outcome(values map[string]float64, length int64, printed string) (outcome, error) {
	for _, name := range []string{"connect", "read", "write", "status", "timeout"} {
		if values[name] != 0 {
			return outcome{}, fmt.Errorf("wrk counted %.0f errors of the kind %q:\n%s", values[name], name, printed)
		}
	}
	requests := values["requests"]
	if c.byBytes {
		requests = values["bytes"] / float64(length)
	}
	if requests == 0 || values["duration"] == 0 {
		return outcome{}, fmt.Errorf("wrk counted no request:\n%s", printed)
	}
	microseconds := func(name string) time.Duration { return time.Duration(values[name]) * time.Microsecond }
	return outcome{
		requests: requests, perSecond: requests / values["duration"] * 1e6,
		p50: microseconds("p50"), p99: microseconds("p99"), p999: microseconds("p99.9"), raw: printed,
	}, nil
}
