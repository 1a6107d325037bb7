package telemetry

import (
	"errors"
	"fmt"
	"testing"
)

// taken is an error of a collector that took all but so many.
type taken int

func (taken) Error() string { return "taken in part" }

func (t taken) Unsent(int) int { return int(t) }

func TestUnsent(t *testing.T) {
	for title, test := range map[string]struct {
		err  error
		want int
	}{
		"none": {nil, 0}, "all": {errors.New("down"), 10}, "a part": {taken(3), 3},
		"a part, wrapped": {fmt.Errorf("send: %w", taken(0)), 0},
	} {
		if got := Unsent(test.err, 10); got != test.want {
			t.Errorf("%s: %d, want %d", title, got, test.want)
		}
	}
}
