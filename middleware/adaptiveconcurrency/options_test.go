package adaptiveconcurrency_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/adaptiveconcurrency"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	small := defaults()
	small.Min, small.Max, small.QueueTimeout = 2, 50, 0
	for name, want := range map[string]dynamic.AdaptiveConcurrency{"bearable": defaults(), "small-without-queue": small} {
		if diff := cmp.Diff(&want, examples[name].AdaptiveConcurrency); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		build(t, want)
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	for want, change := range map[string]func(*dynamic.AdaptiveConcurrency){
		"min 0 is less than 1":                       func(a *dynamic.AdaptiveConcurrency) { a.Min = 0 },
		"max 4 is not from min, 5, to 1000000":       func(a *dynamic.AdaptiveConcurrency) { a.Max = 4 },
		"max 1000001 is not from min, 5, to 1000000": func(a *dynamic.AdaptiveConcurrency) { a.Max = 1000001 },
		"tolerance 0.9 is not from 1 to 10":          func(a *dynamic.AdaptiveConcurrency) { a.Tolerance = 0.9 },
		"tolerance NaN is not from 1 to 10":          func(a *dynamic.AdaptiveConcurrency) { a.Tolerance = math.NaN() },
		"queueTimeout -1ns is less than 0":           func(a *dynamic.AdaptiveConcurrency) { a.QueueTimeout = -1 },
	} {
		config := defaults()
		change(&config)
		step, err := adaptiveconcurrency.New("m@file", config)
		if step != nil || err == nil || err.Error() != "adaptiveConcurrency."+want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
