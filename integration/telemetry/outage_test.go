package telemetry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestCollectorsThatDoNotAnswer sends everything to a collector that is down, and to one that takes everything and
// never answers.
func TestCollectorsThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"grpc", "http"} {
		for _, state := range []string{"down", "hanging"} {
			t.Run(state+" "+transport, func(t *testing.T) {
				t.Parallel()
				options := reached(transport, harness.RefusedAddress(t))
				if state == "hanging" {
					c := newCollector()
					c.hangs = make(chan struct{})
					options = c.listen(t, transport)
				}
				proveOutage(t, options)
			})
		}
	}
}

func proveOutage(t *testing.T, options string) {
	t.Helper()
	started := time.Now()
	w := start(t, strings.Replace(sending(options, 1), "level: DEBUG", "level: INFO, format: json", 1), nil)
	const requests = 3000 // More than may wait.
	w.load(t, requests)
	w.ends(t)
	counts := map[string]int{}
	for line := range strings.Lines(w.sluice.Log.String()) {
		var one struct{ Msg, Signal, Subsystem, Output string }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if one.Subsystem == "telemetry" {
			counts[fmt.Sprintf("%s %s%s", one.Msg, one.Signal, one.Output)]++
		}
	}
	most := 1 + int(time.Since(started)/time.Minute) // Each kind has a line a minute.
	for line, times := range counts {
		if times > most {
			t.Errorf("%q is written %d times", line, times)
		}
	}
	if len(counts) > 8 {
		t.Errorf("too many lines: %v", counts)
	}
}
