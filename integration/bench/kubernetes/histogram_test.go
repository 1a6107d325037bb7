package kubernetes

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// bucket is how many changes took at most so long, in seconds.
type bucket struct{ most, count float64 }

// snapshots reads Sluice's histogram of the time from an event about endpoints to the live snapshot.
func (s *subject) snapshots(tb testing.TB) []bucket {
	tb.Helper()
	p, err := dial(tb.Context(), s.Addr("traefik"))
	if err != nil {
		tb.Fatal(err)
	}
	defer p.close()
	_, text, err := p.ask("localhost", "/metrics")
	if err != nil {
		tb.Fatal(err)
	}
	buckets, err := readBuckets(text, "sluice_endpoint_change_seconds")
	if err != nil {
		tb.Fatal(err)
	}
	return buckets
}

// readBuckets reads a histogram without labels from the text of an exposition.
func readBuckets(text, name string) ([]bucket, error) {
	var buckets []bucket
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, name+`_bucket{le="`)
		if !found {
			continue
		}
		most, count, found := strings.Cut(strings.TrimSpace(rest), `"} `)
		if !found {
			return nil, fmt.Errorf("no count in %q", line)
		}
		var one bucket
		var err error
		if one.most, err = strconv.ParseFloat(most, 64); err != nil {
			return nil, err
		}
		if one.count, err = strconv.ParseFloat(count, 64); err != nil {
			return nil, err
		}
		buckets = append(buckets, one)
	}
	if len(buckets) == 0 {
		return nil, fmt.Errorf("there is no histogram %s", name)
	}
	return buckets, nil
}

// since returns what has come to the buckets since they were read before.
func since(before, after []bucket) []bucket {
	fresh := make([]bucket, len(after))
	for i := range after {
		fresh[i] = bucket{after[i].most, after[i].count - before[i].count}
	}
	return fresh
}

// atMost returns the bound of the bucket that a share of all, in percent, is within, in milliseconds.
func atMost(buckets []bucket, percent float64) float64 {
	all := buckets[len(buckets)-1].count
	for _, one := range buckets {
		if one.count >= all*percent/100 {
			return one.most * 1000
		}
	}
	return math.Inf(1)
}

// bucketText returns the buckets as text.
func bucketText(buckets []bucket) string {
	var parts []string
	for _, one := range buckets {
		parts = append(parts, fmt.Sprintf("%.0f within %g ms", one.count, one.most*1000))
	}
	return strings.Join(parts, ", ")
}
