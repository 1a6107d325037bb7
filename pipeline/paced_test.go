package pipeline_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// later waits, in any goroutine.
func later(d time.Duration) { <-time.NewTimer(d).C }

// slow is a compiler that takes time.
type slow struct {
	pipeline.Compiler
	takes time.Duration
}

func (s slow) Compile(input router.Input) router.Compiled {
	later(s.takes)
	return s.Compiler.Compile(input)
}

func TestLoopPacedProviderWaitsForTheCostOfTheLastTable(t *testing.T) {
	tests := []struct {
		name        string
		takes       time.Duration // to compile
		other, want []time.Duration
	}{
		{"nothing", 0, nil, []time.Duration{0, 1000 * ms, 1010 * ms, 1020 * ms, 1050 * ms}},
		// What comes while a table is compiled, and in twice that time after it, is the next table.
		{"4 ms", 4 * ms, nil, []time.Duration{4 * ms, 1004 * ms, 1016 * ms, 1028 * ms, 1054 * ms}},
		{"40 ms", 40 * ms, nil, []time.Duration{40 * ms, 1040 * ms, 1160 * ms}},
		{"more than a burst is held for", 400 * ms, nil, []time.Duration{400 * ms, 1400 * ms, 1900 * ms}},
		{
			"a change of another provider does not put it off", 40 * ms,
			[]time.Duration{1060 * ms},
			[]time.Duration{40 * ms, 1040 * ms, 1160 * ms},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				paced, file := make(sender), make(sender)
				r := newRigWith(t, func(o *pipeline.Options) {
					o.Source = provider.NewHub([]provider.Entry{
						{Name: "paced", Provider: paced, Paced: true}, {Name: "file", Provider: file},
					}, telemetry.Discard{})
					o.Compiler = slow{o.Compiler, test.takes}
				})
				r.run(t)
				paced <- dynamic.Message{Configuration: routers("a", "0")}
				file <- dynamic.Message{State: dynamic.StateSynced}
				go func() {
					for _, at := range test.other {
						later(at - time.Since(r.begin))
						file <- dynamic.Message{Configuration: routers("b", "0")}
					}
				}()
				for i, at := range []time.Duration{1000 * ms, 1010 * ms, 1020 * ms, 1050 * ms} {
					later(at - time.Since(r.begin))
					paced <- dynamic.Message{Configuration: routers("a", fmt.Sprint(i+1))}
				}
				pass(5 * time.Second)
				if diff := cmp.Diff(test.want, r.moments()); diff != "" {
					t.Errorf("compiled at (-want +got):\n%s", diff)
				}
				if last := r.State().Configuration.HTTP.Routers.Get("a@paced").Rule; last != "4" {
					t.Errorf("the last change is %s, want 4", last)
				}
			})
		})
	}
}
