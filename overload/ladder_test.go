package overload_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/overload"
	"github.com/sluiceproxy/sluice/static"
)

// gauge is a monitor with a pressure that a test sets.
type gauge struct {
	mutex    sync.Mutex
	pressure float64
	samples  int
}

func (g *gauge) set(pressure float64) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.pressure = pressure
}

func (g *gauge) taken() int {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.samples
}

func (g *gauge) Pressure(time.Time) float64 {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.samples++
	return g.pressure
}

// lines is a logger that keeps what it gets.
type lines struct {
	mutex sync.Mutex
	all   []string
}

func (l *lines) write(level, message string, fields []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.all = append(l.all, strings.TrimSpace(level+" "+message+" "+fmt.Sprintln(fields...)))
}

func (l *lines) Debug(message string, fields ...any) { l.write("debug", message, fields) }
func (l *lines) Info(message string, fields ...any)  { l.write("info", message, fields) }
func (l *lines) Warn(message string, fields ...any)  { l.write("warn", message, fields) }
func (l *lines) Error(message string, fields ...any) { l.write("error", message, fields) }

// take returns the lines since it was called last.
func (l *lines) take() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	all := l.all
	l.all = nil
	return all
}

// defaults returns the default configuration.
func defaults() static.Overload {
	var config static.Overload
	config.SetDefaults()
	return config
}

// interval is that of the default configuration.
const interval = 100 * time.Millisecond

// everything are all actions.
func everything() []overload.Action { return append(overload.Shedding(), overload.EndKeepAlive) }

// started runs a manager with one monitor until the test ends.
func started(t *testing.T, config static.Overload, actions []overload.Action) (*overload.Ladder, *gauge, *lines) {
	t.Helper()
	monitor, logger := &gauge{}, &lines{}
	m := overload.New(config, overload.Options{
		Monitors: []overload.Monitored{{Name: "memory", Option: "overload.memory", Monitor: monitor, Actions: actions}},
		Logger:   logger,
	})
	run(t, m)
	return m, monitor, logger
}

// run runs a manager until the test ends.
func run(t *testing.T, m *overload.Ladder) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// samples lets a number of samples be taken.
func samples(count int) {
	pass(time.Duration(count) * interval)
	synctest.Wait()
}

// active returns the names of the active actions.
func active(m *overload.Ladder) string {
	var names []string
	for _, action := range []overload.Action{
		overload.EndKeepAlive, overload.ShedLow, overload.ShedDefault, overload.ShedHigh,
	} {
		if m.Active(action) {
			names = append(names, action.String())
		}
	}
	return strings.Join(names, " ")
}

// refused returns the part of the requests of a class that are refused.
func refused(m *overload.Ladder, class dynamic.PriorityClass) float64 {
	const draws = 20000
	count := 0
	for range draws {
		if _, _, admitted := m.Admit(class); !admitted {
			count++
		}
	}
	return float64(count) / draws
}

func TestLadder(t *testing.T) {
	for _, test := range []struct {
		pressure           float64
		active             string
		low, normal, great float64
	}{
		{0.79, "", 0, 0, 0},
		{0.80, "endKeepAlive", 0, 0, 0},
		{0.85, "endKeepAlive shedLow", 0, 0, 0},
		{0.885, "endKeepAlive shedLow", 0.5, 0, 0},
		{0.92, "endKeepAlive shedLow shedDefault", 1, 0, 0},
		{0.93, "endKeepAlive shedLow shedDefault", 1, 0.2, 0},
		{0.97, "endKeepAlive shedLow shedDefault shedHigh", 1, 1, 0},
		{0.98, "endKeepAlive shedLow shedDefault shedHigh", 1, 1, 1. / 3},
		{7, "endKeepAlive shedLow shedDefault shedHigh", 1, 1, 1},
	} {
		t.Run(fmt.Sprint(test.pressure), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, monitor, _ := started(t, defaults(), everything())
				monitor.set(test.pressure)
				samples(2)
				if got := active(m); got != test.active {
					t.Errorf("active are %q, want %q", got, test.active)
				}
				for class, want := range map[dynamic.PriorityClass]float64{
					dynamic.PriorityLow: test.low, dynamic.PriorityDefault: test.normal, dynamic.PriorityHigh: test.great,
					dynamic.PriorityCritical: 0, dynamic.PriorityCritical + 1: 0, dynamic.PriorityLow - 1: 0,
				} {
					got := refused(m, class)
					if exact := want == 0 || want == 1; exact && got != want || math.Abs(got-want) > 0.03 {
						t.Errorf("%v of class %s are refused, want %v", got, class, want)
					}
				}
			})
		})
	}
}

// TestActionsThatAreOff has a class whose action is off, so that the share of the one below grows further.
func TestActionsThatAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := defaults()
		config.Actions = static.OverloadActions{ShedLow: 80, ShedHigh: 90}
		m, monitor, _ := started(t, config, everything())
		monitor.set(0.85)
		samples(2)
		if got := refused(m, dynamic.PriorityLow); math.Abs(got-0.5) > 0.03 {
			t.Errorf("%v of class low are refused", got)
		}
		monitor.set(1)
		samples(2)
		if got := active(m); got != "shedLow shedHigh" || refused(m, dynamic.PriorityDefault) != 0 {
			t.Errorf("active are %q", got)
		}
	})
}

func TestOneSampleChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, monitor, _ := started(t, defaults(), everything())
		for range 5 {
			monitor.set(1)
			samples(1)
			monitor.set(0.2)
			samples(1)
			if got := active(m); got != "" {
				t.Fatalf("active are %q", got)
			}
		}
	})
}

// TestActionsEndLater demands hysteresis, a slow end, and that a value which hovers around a threshold begins once.
func TestActionsEndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, monitor, _ := started(t, defaults(), everything())
		monitor.set(0.86)
		samples(2)
		for range 50 {
			monitor.set(0.81)
			samples(3)
			monitor.set(0.86)
			samples(3)
		}
		if status := m.Status().Actions[overload.ShedLow]; !status.Active || status.Begun != 1 {
			t.Errorf("%+v", status)
		}
		monitor.set(0)
		samples(10) // From 0.86 at 0.05 a second.
		if got := active(m); got != "endKeepAlive shedLow" {
			t.Errorf("after a second, active are %q", got)
		}
		samples(3)
		if got := active(m); got != "endKeepAlive" {
			t.Errorf("after 1.3 seconds, active are %q", got)
		}
		samples(10)
		if got := active(m); got != "" {
			t.Errorf("after 2.3 seconds, active are %q", got)
		}
	})
}

// TestMonitorsLeadToTheirActions has one that ends connections alone, and another one that refuses requests.
func TestMonitorsLeadToTheirActions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections, cpu := &gauge{}, &gauge{}
		m := overload.New(defaults(), overload.Options{
			Monitors: []overload.Monitored{
				{Name: "connections", Monitor: connections, Actions: []overload.Action{overload.EndKeepAlive}},
				{Name: "cpu", Monitor: cpu, Actions: overload.Shedding()},
			},
			Logger: &lines{},
		})
		run(t, m)
		connections.set(1)
		samples(2)
		if got := active(m); got != "endKeepAlive" {
			t.Errorf("active are %q", got)
		}
		connections.set(0)
		cpu.set(0.86)
		samples(250)
		if got := active(m); got != "shedLow" {
			t.Errorf("active are %q", got)
		}
		want := []overload.Pressure{{Monitor: "connections"}, {Monitor: "cpu", Value: 0.86}}
		if diff := cmp.Diff(want, m.Status().Pressures); diff != "" {
			t.Error(diff)
		}
	})
}

// TestNothingIsMeasuredBeforeTheFirstConfiguration waits for it, and ten seconds more.
func TestNothingIsMeasuredBeforeTheFirstConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		monitor, ready := &gauge{pressure: 1}, make(chan struct{})
		m := overload.New(defaults(), overload.Options{
			Monitors: []overload.Monitored{{Name: "memory", Monitor: monitor, Actions: everything()}},
			Logger:   &lines{}, Ready: ready,
		})
		run(t, m)
		pass(time.Minute)
		close(ready)
		pass(10 * time.Second)
		if taken := monitor.taken(); taken != 0 {
			t.Errorf("%d samples", taken)
		}
		samples(3)
		if active(m) == "" {
			t.Error("nothing is active")
		}
	})
}

func TestWithoutMonitorsNothingRuns(t *testing.T) {
	m := overload.New(defaults(), overload.Options{Logger: &lines{}})
	m.Run(t.Context())
	if _, _, admitted := m.Admit(dynamic.PriorityLow); !admitted || active(m) != "" {
		t.Error("something is active")
	}
}

// TestLogHasALineAMinute has an action that comes and goes, and then stays.
func TestLogHasALineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := defaults()
		config.Actions = static.OverloadActions{ShedDefault: 90}
		m, monitor, logger := started(t, config, everything())
		monitor.set(0.952)
		samples(2)
		monitor.set(0)
		samples(40)
		monitor.set(0.952)
		samples(2)
		monitor.set(0)
		samples(40)
		want := []string{
			"warn overload: shedDefault begins monitor memory option overload.memory pressure 0.95",
			"info overload: shedDefault ends after 2.1s",
		}
		if diff := cmp.Diff(want, logger.take()); diff != "" {
			t.Error(diff)
		}
		pass(time.Minute)
		monitor.set(1)
		samples(2)
		pass(90 * time.Second)
		synctest.Wait()
		want = []string{
			"warn overload: shedDefault begins monitor memory option overload.memory pressure 1",
			"warn overload: shedDefault goes on monitor memory option overload.memory pressure 1",
		}
		if diff := cmp.Diff(want, logger.take()); diff != "" {
			t.Error(diff)
		}
		if begun := m.Status().Actions[overload.ShedDefault].Begun; begun != 3 {
			t.Errorf("it has begun %d times", begun)
		}
	})
}

func TestRefusedRequestsAreCountedAndComeBackLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := defaults()
		config.RetryAfter = static.Duration(3 * time.Second)
		m, monitor, _ := started(t, config, everything())
		monitor.set(1)
		samples(2)
		for range 3 {
			if _, retryAfter, admitted := m.Admit(dynamic.PriorityHigh); admitted || retryAfter != 3*time.Second {
				t.Errorf("admitted %t, retry after %s", admitted, retryAfter)
			}
		}
		m.Admit(dynamic.PriorityLow)
		want := []overload.ShedStatus{
			{Class: dynamic.PriorityLow, Requests: 1},
			{Class: dynamic.PriorityDefault},
			{Class: dynamic.PriorityHigh, Requests: 3},
		}
		if diff := cmp.Diff(want, m.Status().Shed); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNamesOfActions(t *testing.T) {
	if got := overload.Action(200).String(); got != "Action(200)" {
		t.Error(got)
	}
}

func BenchmarkAdmit(b *testing.B) {
	m := overload.New(defaults(), overload.Options{Logger: &lines{}})
	b.ReportAllocs()
	for b.Loop() {
		m.Admit(dynamic.PriorityDefault)
	}
}

// pass lets time pass.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
