package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// open is an open loop: requests are due at fixed times, regardless of the proxy.
type open struct {
	connections int
	// share is the load as a part of nginx's capacity.
	share float64
}

// String describes the load.
func (o open) String() string {
	return fmt.Sprintf("open loop, %.0f %% of nginx's capacity, %d connections", 100*o.share, o.connections)
}

// run runs the command load.
func (o open) run(ctx context.Context, at target) (outcome, error) {
	printed, err := output(ctx, at.folder, at.time+20*time.Second, at.own("rate", at.plain,
		"-connections", fmt.Sprint(o.connections), "-rate", fmt.Sprintf("%.0f", o.share*at.capacity))...)
	if err != nil {
		return outcome{}, err
	}
	values, err := resultLine("load ", printed)
	if err != nil {
		return outcome{}, err
	}
	return ownOutcome(values, printed)
}

// shaken is a series of TLS handshakes, each with one request.
type shaken struct {
	connections int
	// resume enables session resumption.
	resume bool
}

// String describes the load.
func (s shaken) String() string {
	kind := "full"
	if s.resume {
		kind = "resumed"
	}
	return fmt.Sprintf("%s handshakes of TLS 1.3 with one request each, %d at a time", kind, s.connections)
}

// run runs the command load.
func (s shaken) run(ctx context.Context, at target) (outcome, error) {
	printed, err := followed(ctx, at.folder, at.time+20*time.Second, at.started, at.own("handshakes", at.secure,
		"-connections", fmt.Sprint(s.connections), fmt.Sprintf("-resume=%v", s.resume))...)
	if err != nil {
		return outcome{}, err
	}
	values, err := resultLine("load ", printed)
	if err != nil {
		return outcome{}, err
	}
	most := values["requests"] - values["resumed"] - float64(s.connections) // The first one of each worker is full.
	if s.resume && most > 0 || !s.resume && values["resumed"] > 0 {
		return outcome{}, fmt.Errorf("%.0f of %.0f sessions were resumed", values["resumed"], values["requests"])
	}
	return ownOutcome(values, printed)
}

// overHTTP3 is a closed loop over HTTP/3.
type overHTTP3 struct{ connections, each int }

// String describes the load.
func (s overHTTP3) String() string {
	return fmt.Sprintf("HTTP/3, %d connections with %d streams each", s.connections, s.each)
}

// run runs the command load.
func (s overHTTP3) run(ctx context.Context, at target) (outcome, error) {
	printed, err := followed(ctx, at.folder, at.time+30*time.Second, at.started, at.own("http3", at.secure,
		"-connections", fmt.Sprint(s.connections), "-streams", fmt.Sprint(s.each))...)
	if err != nil {
		return outcome{}, err
	}
	values, err := resultLine("load ", printed)
	if err != nil {
		return outcome{}, err
	}
	return ownOutcome(values, printed)
}

// own returns the command line of load.
func (t target) own(name string, port int, flags ...string) []string {
	return append([]string{
		filepath.Join(t.tools, "load"), name, "-address", fmt.Sprintf("127.0.0.1:%d", port), "-host", t.hosts[0], "-path",
		t.path, "-time", t.time.String(),
	}, flags...)
}

// ownOutcome converts the output of load.
func ownOutcome(values map[string]float64, printed string) (outcome, error) {
	if values["requests"] == 0 || values["duration"] == 0 {
		return outcome{}, fmt.Errorf("nothing was answered:\n%s", printed)
	}
	microseconds := func(name string) time.Duration { return time.Duration(values[name]) * time.Microsecond }
	return outcome{
		requests: values["requests"], perSecond: values["requests"] / values["duration"] * 1e6,
		p50: microseconds("p50"), p99: microseconds("p99"), p999: microseconds("p99.9"), raw: printed,
	}, nil
}
