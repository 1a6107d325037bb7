package overload_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/overload"
)

// TestDescriptors counts at once while that is fast, and for a fiftieth of the time while it is slow. What cannot be
// counted is all in use.
func TestDescriptors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open, counted, takes := 50, 0, time.Duration(0)
		var failure error
		monitor := overload.Descriptors(func() (int, error) {
			counted++
			pass(takes)
			return open, failure
		}, 200)
		for _, test := range []struct {
			name    string
			wait    time.Duration
			open    int
			takes   time.Duration
			failure error
			want    float64
			counted int
		}{
			{"fast", 0, 50, 0, nil, 0.25, 1},
			{"at once again", 0, 100, 0, nil, 0.5, 2},
			{"beyond the limit", 0, 300, 0, nil, 1.5, 3},
			{"slow", 0, 20, 10 * time.Millisecond, nil, 0.1, 4},
			{"too early", 400 * time.Millisecond, 40, 0, nil, 0.1, 4},
			{"later", 100 * time.Millisecond, 40, 0, nil, 0.2, 5},
			{"none left to count", 0, 40, 0, errors.New("too many open files"), 1, 6},
		} {
			pass(test.wait)
			open, takes, failure = test.open, test.takes, test.failure
			if got := monitor.Pressure(time.Now()); got != test.want || counted != test.counted {
				t.Errorf("%s: the pressure is %v after %d counts, want %v and %d", test.name, got, counted, test.want, test.counted)
			}
		}
	})
}
