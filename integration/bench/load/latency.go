package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// times are durations of requests.
type times []time.Duration

// quantile returns a quantile of sorted times; 0 if there are none.
func (t times) quantile(share float64) time.Duration {
	if len(t) == 0 {
		return 0
	}
	return t[min(len(t)-1, int(share*float64(len(t))))]
}

// print sorts the times and writes the result line, with additional pairs of name and value.
func (t times) print(stdout io.Writer, requests int, took time.Duration, more ...string) error {
	slices.Sort(t)
	_, err := fmt.Fprintf(stdout, "load requests=%d duration=%d p50=%d p99=%d p99.9=%d max=%d %s\n", requests,
		took.Microseconds(),
		t.quantile(0.5).Microseconds(), t.quantile(0.99).Microseconds(), t.quantile(0.999).Microseconds(),
		t.quantile(1).Microseconds(),
		strings.Join(more, " "))
	return err
}
