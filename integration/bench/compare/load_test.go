package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWrk(t *testing.T) {
	values, err := resultLine("bench ", captured(t, "wrk.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := closed{connections: 64}.outcome(values, small, "")
	want := outcome{
		requests: 19874, perSecond: got.perSecond, p50: 1840 * time.Microsecond, p99: 32336 * time.Microsecond,
		p999: 36548 * time.Microsecond,
	}
	if err != nil || got != want || math.Abs(got.perSecond-19674) > 1 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestLargeAnswersCountByTheirBytes(t *testing.T) {
	values, err := resultLine("bench ", captured(t, "wrk-large.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := closed{connections: 8, byBytes: true}.outcome(values, 10<<20, "")
	if err != nil || math.Abs(got.requests-99.41) > 0.01 {
		t.Errorf("%v requests, %v", got.requests, err)
	}
}

func TestWrkFails(t *testing.T) {
	for name, printed := range map[string]string{
		"other status": captured(t, "wrk-errors.txt"),
		"no result":    "unable to connect to 127.0.0.1:1 Connection refused\n",
		"no number":    "bench requests=many\n",
		"no request":   "bench requests=0 duration=1000\n",
		"time-outs":    strings.Replace(captured(t, "wrk.txt"), "timeout=0", "timeout=2", 1),
	} {
		values, err := resultLine("bench ", printed)
		if err == nil {
			_, err = closed{}.outcome(values, small, printed)
		}
		if err == nil {
			t.Errorf("%s: it is a result", name)
		}
	}
}

func TestH2load(t *testing.T) {
	printed := captured(t, "h2load.txt")
	done, perSecond, err := h2loadCounts(printed)
	if err != nil || done != 38460 || perSecond != 38460 {
		t.Errorf("%v done, %v per second, %v", done, perSecond, err)
	}
	for old, bad := range map[string]string{
		"38460 2xx, 0 3xx, 0 4xx": "38459 2xx, 0 3xx, 1 4xx",
		"0 failed":                "1 failed",
		"0 timeout":               "4 timeout",
		"protocol: h2":            "protocol: http/1.1",
		"finished in":             "ended in",
		"38460 succeeded":         "0 succeeded",
	} {
		if _, _, err := h2loadCounts(strings.Replace(printed, old, bad, 1)); err == nil {
			t.Errorf("%q is a result", bad)
		}
	}
}

func TestH2loadLatencies(t *testing.T) {
	all, err := h2loadLatencies(captured(t, "h2load-log.txt"))
	if err != nil || len(all) != 4 || quantile(all, 0.5) != 1062*time.Microsecond ||
		quantile(all, 0.999) != 6840*time.Microsecond {
		t.Errorf("%v, %v", all, err)
	}
	for _, text := range []string{"", "1 200\n", "1 200 soon\n"} {
		if _, err := h2loadLatencies(text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}

func TestCollected(t *testing.T) {
	count, heap, err := collected(captured(t, "gctrace.txt"))
	if err != nil || count != 7 || heap != 14*1024 {
		t.Errorf("%d collections, %v KiB, %v", count, heap, err)
	}
	if count, _, err := collected("no line of the collector\n"); err != nil || count != 0 {
		t.Errorf("%d collections, %v", count, err)
	}
}

func TestOwnOutcome(t *testing.T) {
	values, err := resultLine("load ",
		"ready\nload requests=2515 duration=1002816 p50=355 p99=2996 p99.9=4656 max=4880 unanswered=0\n")
	if err != nil {
		t.Fatal(err)
	}
	got, err := ownOutcome(values, "")
	if err != nil || got.requests != 2515 || math.Abs(got.perSecond-2507.9) > 0.1 || got.p99 != 2996*time.Microsecond ||
		got.p999 != 4656*time.Microsecond {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ownOutcome(map[string]float64{"duration": 1}, ""); err == nil {
		t.Error("no answer is a result")
	}
}

func TestValuesOfALoad(t *testing.T) {
	for name, test := range map[string]struct {
		out  outcome
		want map[metric]float64
	}{
		"requests": {
			outcome{requests: 500_000, perSecond: 1000, p99: time.Millisecond, size: 2048},
			map[metric]float64{cpu: 4, rate: 1000, p50: 0, p99: 1, p999: 0, size: 2},
		},
		"bytes": {
			outcome{bytes: 4 << 30, perSecond: 3 << 29}, map[metric]float64{cpuOfBytes: 0.5, bytesRate: 1.5},
		},
		"datagrams": {
			outcome{requests: 750_000, sent: 1_000_000, perSecond: 10},
			map[metric]float64{cpu: 2 / 0.75, rate: 10, p50: 0, p99: 0, p999: 0, unanswered: 25},
		},
	} {
		if diff := cmp.Diff(test.want, test.out.values(2*time.Second)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
