package main

import (
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestMonitorsAreThoseOfTheConfiguration has the memory measured where a limit is known or given, and the rest where it
// is wanted.
func TestMonitorsAreThoseOfTheConfiguration(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*static.Overload)
		found  limits
		want   map[string]int
	}{
		{"defaults", func(*static.Overload) {}, limits{memory: 1 << 30}, map[string]int{}},
		{"no limit", func(o *static.Overload) { o.Memory.Limit = 0 }, limits{}, map[string]int{}},
		{
			"the found limit",
			func(o *static.Overload) { o.Memory.Limit = 0 },
			limits{memory: 1 << 30},
			map[string]int{"memory": 7},
		},
		{"own limit", func(o *static.Overload) { o.Memory.Limit = 1 << 20 }, limits{}, map[string]int{"memory": 7}},
		{
			"everything",
			func(o *static.Overload) {
				o.Memory.Limit = 0
				o.CPU.SchedulerLatency, o.Connections.Limit = static.Duration(time.Millisecond), 10
				o.Descriptors.Limit = 0
			},
			limits{memory: 1 << 30, descriptors: 900},
			map[string]int{"memory": 7, "cpu": 3, "connections": 2, "descriptors": 3},
		},
		{"unlimited descriptors", func(o *static.Overload) { o.Descriptors.Limit = 0 }, limits{}, map[string]int{}},
		{
			"own limit of descriptors",
			func(o *static.Overload) { o.Descriptors.Limit = 10 },
			limits{},
			map[string]int{"descriptors": 3},
		},
		{
			"descriptors that cannot be counted",
			func(o *static.Overload) { o.Descriptors.Limit = 10 },
			limits{descriptors: -1},
			map[string]int{},
		},
	} {
		config := &static.Overload{}
		config.SetDefaults()
		test.change(config)
		got := map[string]int{}
		for _, one := range overloadMonitors(config, test.found, func() int64 { return 0 }) {
			got[one.Name] = len(one.Actions)
			if one.Option == "" {
				t.Errorf("%s: %s has no option", test.name, one.Name)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: actions of the monitors (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestFoundMemoryLimit(t *testing.T) {
	before := debug.SetMemoryLimit(1 << 20)
	defer debug.SetMemoryLimit(before)
	if got := foundMemoryLimit(); got != 1<<20 {
		t.Errorf("the limit is %d", got)
	}
}

// TestOwnEntrypointsAreLeftAlone is about those of ping and of the internal services.
func TestOwnEntrypointsAreLeftAlone(t *testing.T) {
	s := &system{config: &static.Configuration{Ping: &static.Ping{EntryPoint: "health"}}}
	for name, want := range map[string]bool{"traefik": true, "Traefik": true, "health": true, "web": false} {
		if got := s.isOwn(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
	s.config.Ping = nil
	if s.isOwn("health") {
		t.Error("without ping, its entrypoint is left alone")
	}
}

// closing notes that its connection ends.
type closing struct {
	http.ResponseWriter

	last bool
}

func (c *closing) CloseAfter() { c.last = true }

// full is a monitor of a resource that is used up.
type full struct{}

func (full) Pressure(time.Time) float64 { return 1 }

// TestConnectionsEndWhileTheActionIsActive has a writer that can end its connection, and one that cannot.
func TestConnectionsEndWhileTheActionIsActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var config static.Overload
		config.SetDefaults()
		manager := overload.New(config, overload.Options{
			Monitors: []overload.Monitored{
				{Name: "full", Monitor: full{}, Actions: []overload.Action{overload.EndKeepAlive}},
			},
			Logger: telemetry.Discard{},
		})
		served := 0
		handler := endingKeepAlive{manager: manager, next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			served++
		})}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
		w := &closing{ResponseWriter: httptest.NewRecorder()}
		if handler.ServeHTTP(w, request); w.last {
			t.Error("the connection ends without pressure")
		}
		go manager.Run(t.Context())
		settled := time.NewTimer(time.Second)
		<-settled.C
		synctest.Wait()
		if handler.ServeHTTP(w, request); !w.last {
			t.Error("the connection does not end")
		}
		handler.ServeHTTP(httptest.NewRecorder(), request)
		if served != 3 {
			t.Errorf("%d requests are served", served)
		}
	})
}
