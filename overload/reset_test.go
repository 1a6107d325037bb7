package overload_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/overload"
)

// resetter ends two requests of 3 bytes at each call.
type resetter struct{ calls int }

func (r *resetter) EndLargest() (requests int, bytes int64) {
	r.calls++
	return 2, 6
}

// TestResetLargest ends requests once a second, while the last sample is at the threshold.
func TestResetLargest(t *testing.T) {
	for _, test := range []struct {
		name      string
		threshold int
		leadsTo   overload.Action
		want      int
	}{
		{"on", 98, overload.ResetLargest, 3},
		{"off", 0, overload.ResetLargest, 0},
		{"another monitor", 98, overload.StopAccepting, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				config := defaults()
				config.Actions.ResetLargest = test.threshold
				monitor, logger, ends := &gauge{}, &lines{}, &resetter{}
				m := overload.New(config, overload.Options{
					Monitors: []overload.Monitored{{
						Name: "memory", Option: "overload.memory", Monitor: monitor, Actions: []overload.Action{test.leadsTo},
					}},
					Logger: logger, Resetter: ends,
				})
				run(t, m)
				monitor.set(0.97)
				pass(time.Second + interval/2)
				if ends.calls != 0 {
					t.Errorf("%d calls below the threshold", ends.calls)
				}
				monitor.set(0.98)
				pass(2500 * time.Millisecond)
				// The pressure that counts is still at the threshold then, and the action active.
				monitor.set(0.94)
				pass(time.Second)
				if ends.calls != test.want || m.Status().Reset != uint64(2*test.want) {
					t.Errorf("%d calls, %d requests", ends.calls, m.Status().Reset)
				}
				var got []string
				for _, line := range logger.take() {
					if strings.Contains(line, "were ended") {
						got = append(got, line)
					}
				}
				var want []string
				if test.want > 0 {
					want = []string{"warn overload: requests that hold the most memory were ended requests 2 bytes 6"}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
