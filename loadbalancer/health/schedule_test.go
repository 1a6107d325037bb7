package health

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestVerdictsFollowRiseAndFall has one endpoint answer by a script, one letter a check: + is well and - is not.
// The results stand where they are made.
func TestVerdictsFollowRiseAndFall(t *testing.T) {
	tests := []struct {
		name             string
		rise, fall       int
		answers, changed string
	}{
		{"the first decides", 3, 3, "+", "+"},
		{"the first decides, badly", 3, 3, "-", "-"},
		{"one each", 1, 1, "+-+-", "+-+-"},
		{"nothing new", 1, 1, "+++", "+.."},
		{"fall 3", 1, 3, "+--+---+", "+.....-+"},
		{"rise 2", 2, 1, "-+-++--", "-...+-."},
		{"flapping never gets through", 2, 2, "+-+-+-+-", "+......."},
		{"flapping while down", 2, 2, "-+-+-+-+", "-......."},
		{"both", 3, 2, "+--+++-++--", "+.-..+....-"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				statuses := []int{}
				for _, answer := range test.answers {
					statuses = append(statuses, map[rune]int{'+': 200, '-': 503}[answer])
				}
				server := &endpoint{answer: script(statuses...)}
				prober, notes := NewProber(1), &journal{}
				defer prober.Close()
				begin := time.Now()
				prober.Start(server.target(), every(t, time.Second, func(c *dynamic.ServerHealthCheck) {
					c.Rise, c.Fall = number(test.rise), number(test.fall)
				}), notes.note)
				pass(time.Duration(len(test.answers))*time.Second - time.Millisecond)
				got := []byte(slices.Repeat([]byte{'.'}, len(test.answers)))
				for _, result := range notes.all() {
					got[result.At.Sub(begin)/time.Second] = map[bool]byte{true: '+', false: '-'}[result.Up]
				}
				if string(got) != test.changed {
					t.Errorf("%s: results %s, want %s", test.answers, got, test.changed)
				}
			})
		})
	}
}

func TestChecksComeAtTheirTimes(t *testing.T) {
	unhealthy := func(d time.Duration) func(*dynamic.ServerHealthCheck) {
		return func(c *dynamic.ServerHealthCheck) { c.UnhealthyInterval = (*ptypes.Duration)(&d) }
	}
	tests := []struct {
		name   string
		answer func(context.Context, int) (int, error)
		change func(*dynamic.ServerHealthCheck)
		want   []int // seconds
	}{
		{"at once, and then each interval", always(200), nil, []int{0, 10, 20, 30}},
		{"down as often as up", always(500), nil, []int{0, 10, 20, 30}},
		{"down more often", script(200, 500, 500, 500, 200), unhealthy(2 * time.Second), []int{0, 10, 12, 14, 16, 26, 36}},
		{"down less often", script(500, 200), unhealthy(25 * time.Second), []int{0, 25, 35}},
		{"from beginning to beginning", takes(4 * time.Second), nil, []int{0, 10, 20, 30}},
		{"turns are missed", takes(14 * time.Second), func(c *dynamic.ServerHealthCheck) { c.Timeout = 60e9 }, []int{0, 20}},
		{"time-outs", never, func(c *dynamic.ServerHealthCheck) { c.Timeout = 3e9 }, []int{0, 10, 20, 30}},
		{"failing but up", script(200, 500), func(c *dynamic.ServerHealthCheck) {
			unhealthy(time.Second)(c)
			c.Fall = number(3)
		}, []int{0, 10, 20, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &endpoint{answer: test.answer}
				prober, begin := NewProber(4), time.Now()
				defer prober.Close()
				prober.Start(server.target(), every(t, 10*time.Second, test.change), func(Result) {})
				pass(39*time.Second + time.Millisecond)
				var got []int
				for _, asked := range server.times() {
					if since := asked.Sub(begin); since%time.Second != 0 {
						t.Errorf("checked after %v", since)
					} else {
						got = append(got, int(since/time.Second))
					}
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("checked after %v seconds, want %v", got, test.want)
				}
				if server.clients != server.disconnects+server.open {
					t.Errorf("%d clients, %d of them hung up", server.clients, server.disconnects)
				}
			})
		})
	}
}

func TestTimeoutsAreVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &endpoint{answer: never}
		prober, notes, begin := NewProber(1), &journal{}, time.Now()
		defer prober.Close()
		prober.Start(server.target(), every(t, time.Minute, func(c *dynamic.ServerHealthCheck) {
			c.Path = "/health?token=secret"
		}), notes.note)
		pass(10 * time.Second)
		want := Result{Reason: "GET /health: no answer within 5s", At: begin.Add(5 * time.Second)}
		if got := notes.all(); len(got) != 1 || got[0] != want {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// TestParallelIsABound starts a thousand probes of slow endpoints at once.
func TestParallelIsABound(t *testing.T) {
	const probes, parallel = 1000, 16
	synctest.Test(t, func(t *testing.T) {
		server := &endpoint{answer: takes(time.Second)}
		prober, begin := NewProber(parallel), time.Now()
		defer prober.Close()
		var order []int
		notes := &journal{}
		for i := range probes {
			prober.Start(server.target(), every(t, time.Hour, nil), func(v Result) {
				notes.mutex.Lock()
				defer notes.mutex.Unlock()
				order = append(order, i)
				notes.results = append(notes.results, v)
			})
		}
		pass(time.Hour - time.Second)
		if server.most != parallel {
			t.Errorf("%d checks at a time, want %d", server.most, parallel)
		}
		asked := server.times()
		if len(asked) != probes || len(order) != probes {
			t.Fatalf("%d checks and %d results, want %d", len(asked), len(order), probes)
		}
		if took := asked[probes-1].Sub(begin); took != (probes-1)/parallel*time.Second {
			t.Errorf("the last one began after %v", took)
		}
		for i, probe := range order { // Those of one second come in any order.
			if i/parallel != probe/parallel {
				t.Fatalf("probe %d was answered as number %d", probe, i)
			}
		}
	})
}

// TestSlowProbesDelayNoOther has as many endpoints hang as there are places but one.
func TestSlowProbesDelayNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		prober := NewProber(4)
		defer prober.Close()
		hung, server := &endpoint{answer: never}, &endpoint{answer: always(200)}
		for range 3 {
			prober.Start(hung.target(), every(t, time.Second, nil), func(Result) {})
		}
		begin := time.Now()
		prober.Start(server.target(), every(t, time.Second, nil), func(Result) {})
		pass(time.Minute - time.Millisecond)
		asked := server.times()
		for i, at := range asked {
			if at.Sub(begin) != time.Duration(i)*time.Second {
				t.Fatalf("check %d after %v", i, at.Sub(begin))
			}
		}
		if len(asked) != 60 {
			t.Errorf("%d checks in a minute", len(asked))
		}
		if hung.most != 3 {
			t.Errorf("%d checks at a time of three endpoints that hang", hung.most)
		}
	})
}

func TestJitterSpreadsProbes(t *testing.T) {
	for _, test := range []struct {
		probes, jitter int
		first, last    time.Duration
	}{
		{100, 0, 30 * time.Second, 30 * time.Second},
		{3000, 10, 27 * time.Second, 33 * time.Second},
		{1000, 30, 21 * time.Second, 39 * time.Second},
	} {
		t.Run(fmt.Sprint(test.jitter), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &endpoint{answer: always(200)}
				prober, begin := NewProber(64), time.Now()
				defer prober.Close()
				check := checkOf(t, func(c *dynamic.ServerHealthCheck) { c.Jitter = &test.jitter })
				for range test.probes {
					prober.Start(server.target(), check, func(Result) {})
				}
				synctest.Wait()
				if n := len(server.times()); n != test.probes {
					t.Fatalf("%d of %d checks at once", n, test.probes)
				}
				pass(40 * time.Second)
				second := server.times()[test.probes : 2*test.probes]
				first, last := second[0].Sub(begin), second[test.probes-1].Sub(begin)
				if first < test.first || last > test.last {
					t.Errorf("the second checks come from %v to %v", first, last)
				}
				if spread := last - first; test.jitter > 0 && spread < (test.last-test.first)*9/10 {
					t.Errorf("they come within %v", spread)
				}
			})
		})
	}
}
