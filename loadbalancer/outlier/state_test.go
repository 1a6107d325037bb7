package outlier

import (
	"math"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sluiceproxy/sluice/dynamic"
)

// The results that most tests need.
var (
	good    = Result{Status: 200}
	refused = Result{Unreachable: true}
	broken  = Result{Broken: true}
	error5  = Result{Status: 500}
)

// at is a result and when it came.
type at struct {
	after  time.Duration
	result Result
}

func TestThresholds(t *testing.T) {
	const s = time.Second
	three := passiveOf(10*s, 3)
	tests := []struct {
		name      string
		passive   *dynamic.PassiveServerHealthCheck
		detection *dynamic.OutlierDetection
		results   []at
		// suspect is the index of the result that makes the member a suspect, -1 for none.
		suspect int
	}{
		{"passive: one attempt", passiveOf(10*s, 1), nil, []at{{0, good}, {0, error5}}, 1},
		{"passive: within the window", three, nil, []at{{0, error5}, {4 * s, refused}, {4 * s, broken}}, 2},
		{"passive: the first is too old", three, nil, []at{{0, error5}, {5 * s, error5}, {5 * s, error5}}, -1},
		{"passive: the window slides", three, nil, []at{{0, error5}, {9 * s, error5}, {1 * s, error5}, {8 * s, error5}}, 3},
		{"passive: a success clears", three, nil, []at{{0, error5}, {0, error5}, {0, good}, {0, error5}, {0, error5}}, -1},
		{"passive: 404 is a success", three, nil, []at{{0, error5}, {0, error5}, {0, Result{Status: 404}}, {0, error5}}, -1},
		{"passive: silence is no success", three, nil, []at{{0, error5}, {0, error5}, {0, Result{}}, {0, error5}}, 3},
		{"default: five in a row", nil, nil, []at{{0, refused}, {0, broken}, {0, refused}, {0, refused}, {0, broken}}, 4},
		{"default: however long it takes", nil, nil, []at{
			{0, refused},
			{99 * s, refused},
			{99 * s, refused},
			{99 * s, refused},
			{99 * s, refused},
		}, 4},
		{"default: a success between", nil, nil, []at{
			{0, refused},
			{0, refused},
			{0, refused},
			{0, refused},
			{0, good},
			{0, refused},
		}, -1},
		{"default: status 500 is a success", nil, nil, []at{
			{0, refused},
			{0, refused},
			{0, refused},
			{0, refused},
			{0, error5},
			{0, refused},
		}, -1},
		{
			"both: passive is first", three, detectionOf(nil),
			[]at{{0, error5}, {0, error5}, {0, refused}},
			2,
		},
		{
			"both: detection is first", passiveOf(s, 3), detectionOf(nil),
			[]at{{0, refused}, {s, refused}, {s, refused}, {s, refused}, {s, refused}},
			4,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			policy, state, now, got := policyOf(t, test.passive, test.detection), &State{}, time.Hour, -1
			for i, step := range test.results {
				now += step.after
				if state.Observe(policy, step.result, now) {
					if got >= 0 {
						t.Fatalf("a suspect twice, by results %d and %d", got, i)
					}
					got = i
				}
			}
			if got != test.suspect {
				t.Errorf("a suspect by result %d, want %d", got, test.suspect)
			}
			if state.Suspect() != (test.suspect >= 0) {
				t.Errorf("Suspect says %v", state.Suspect())
			}
		})
	}
}

// fail makes a member a suspect by failures at a time.
func fail(t *testing.T, state *State, policy *Policy, now time.Duration) {
	t.Helper()
	for range 1000 {
		if state.Observe(policy, refused, now) {
			return
		}
	}
	t.Fatal("a thousand failures make no suspect")
}

// within reports whether an ejection lasts for a time, less at most a tenth of it.
func within(lasts, most time.Duration) bool { return lasts <= most && lasts >= most-most/10 }

func TestEjectionsGrowAndDecay(t *testing.T) {
	const s = time.Second
	policy, state, now := policyOf(t, nil, nil), &State{}, time.Hour
	for i, step := range []struct{ served, out time.Duration }{
		{0, 2 * s},
		{0, 4 * s},
		{s, 8 * s},
		{s, 16 * s},
		{s, 32 * s},
		{s, 60 * s},
		{s, 60 * s},
		{59 * s, 60 * s},
		{60 * s, 32 * s},
		{(60 + 32) * s, 16 * s},
		{time.Hour, 2 * s},
		{3 * s, 4 * s},
	} {
		now += step.served
		fail(t, state, policy, now)
		until := state.Eject(policy, now, false)
		if !within(until-now, step.out) {
			t.Fatalf("ejection %d after %v lasts %v, want %v", i, step.served, until-now, step.out)
		}
		if now = until; !state.Ejected() {
			t.Fatal("not ejected")
		}
		state.Return(now)
		if state.Ejected() || state.Suspect() {
			t.Fatal("not returned")
		}
	}
}

func TestSystemicFailuresLengthenNothing(t *testing.T) {
	policy, state, now := policyOf(t, nil, nil), &State{}, time.Hour
	eject := func(systemic bool) time.Duration {
		fail(t, state, policy, now)
		until := state.Eject(policy, now, systemic)
		lasts := until - now
		now = until
		state.Return(now)
		return lasts
	}
	for range 20 {
		if lasts := eject(true); !within(lasts, 2*time.Second) {
			t.Fatalf("out for %v", lasts)
		}
	}
	eject(false)
	eject(false)
	if lasts := eject(true); !within(lasts, 2*time.Second) {
		t.Errorf("out for %v though no endpoint is at fault", lasts)
	}
	if lasts := eject(false); !within(lasts, 8*time.Second) {
		t.Errorf("out for %v after two ejections", lasts)
	}
}

func TestPassiveEjectsForTheWindow(t *testing.T) {
	policy, state, now := policyOf(t, passiveOf(7*time.Second, 2), nil), &State{}, time.Hour
	for range 4 { // Never longer.
		fail(t, state, policy, now)
		until := state.Eject(policy, now, false)
		if until != now+7*time.Second {
			t.Fatalf("out for %v", until-now)
		}
		now = until
		state.Return(now)
	}
}

func TestTheLongerEjectionCounts(t *testing.T) {
	now := time.Hour
	for _, test := range []struct {
		window, want time.Duration
		result       Result
	}{
		{time.Second, 2 * time.Second, refused}, // Both find it guilty.
		{30 * time.Second, 30 * time.Second, refused},
		{time.Second, time.Second, error5}, // Only one does.
	} {
		policy, state := policyOf(t, passiveOf(test.window, 5), detectionOf(nil)), &State{}
		for range 5 {
			state.Observe(policy, test.result, now)
		}
		if lasts := state.Eject(policy, now, false) - now; !within(lasts, test.want) {
			t.Errorf("window %v, %+v: out for %v, want %v", test.window, test.result, lasts, test.want)
		}
	}
}

func TestOldNewsCountsForNothing(t *testing.T) {
	const s = time.Second
	policy, state, now := policyOf(t, nil, nil), &State{}, time.Hour
	fail(t, state, policy, now)
	until := state.Eject(policy, now, false)
	for range 100 { // What was under way when it was ejected.
		if state.Observe(policy, refused, now+s) {
			t.Fatal("a suspect while it is out")
		}
	}
	if again := state.Eject(policy, now+s, false); again != until {
		t.Errorf("the second ejection moves the end from %v to %v", until, again)
	}
	state.Return(until)
	for range 100 { // What began before and ended after.
		if state.Observe(policy, Result{Broken: true, Began: now - 30*s}, until+s) {
			t.Fatal("a suspect by requests that began before it was out")
		}
	}
	for i := range 5 {
		state.Observe(policy, Result{Status: 200, Began: now - 30*s}, until+s) // An old success clears nothing either.
		if state.Observe(policy, Result{Broken: true, Began: until + s}, until+2*s) != (i == 4) {
			t.Fatalf("failure %d after the return", i)
		}
	}
	if lasts := state.Eject(policy, until+2*s, false) - (until + 2*s); !within(lasts, 4*s) {
		t.Errorf("out for %v, want one doubling and no more", lasts)
	}
}

// A pool at its limit keeps a suspect, which is reported once; Suspect stays set until it succeeds.
func TestSparedSuspects(t *testing.T) {
	policy, state, now := policyOf(t, nil, nil), &State{}, time.Hour
	fail(t, state, policy, now)
	for range 20 {
		if state.Observe(policy, refused, now) {
			t.Fatal("reported twice")
		}
	}
	if !state.Suspect() {
		t.Fatal("dropped")
	}
	state.Observe(policy, good, now)
	if state.Suspect() {
		t.Fatal("a success clears nothing")
	}
	fail(t, state, policy, now)
}

// A success for one judge clears what that judge holds against the member, also where the other goes on.
func TestJudgesCountForThemselves(t *testing.T) {
	policy, state, now := policyOf(t, passiveOf(time.Hour, 100), detectionOf(nil)), &State{}, time.Hour
	fail(t, state, policy, now)
	state.Observe(policy, error5, now)
	if state.Suspect() {
		t.Error("a response does not end the failures in a row")
	}
	for i := range 94 {
		if state.Observe(policy, error5, now) != (i == 93) {
			t.Fatalf("passive failure %d", i+7)
		}
	}
}

func TestThresholdIsCrossedOnce(t *testing.T) {
	policy, now := policyOf(t, nil, nil), time.Hour
	for range 200 {
		var state State
		var mutex sync.Mutex
		var crowd sync.WaitGroup
		told := 0
		for range 8 {
			crowd.Go(func() {
				for range 4 {
					if state.Observe(policy, refused, now) {
						mutex.Lock()
						told++
						mutex.Unlock()
					}
				}
			})
		}
		crowd.Wait()
		if told != 1 {
			t.Fatalf("reported %d times", told)
		}
	}
}

// A policy may change under a state: the recorded results are judged by the new one.
func TestPolicyMayChange(t *testing.T) {
	state, now := &State{}, time.Hour
	wide := policyOf(t, passiveOf(time.Hour, 100), nil)
	for range 50 {
		state.Observe(wide, error5, now)
	}
	narrow := policyOf(t, passiveOf(time.Hour, 3), nil)
	if !state.Observe(narrow, error5, now) {
		t.Error("fifty failures and one are not three")
	}
	if len(state.failures) > 3 {
		t.Errorf("keeps %d failures, needs 3", len(state.failures))
	}
	if state.Return(now); state.Observe(&Policy{}, refused, now) {
		t.Error("the zero policy judges")
	}
}

func TestStateIsSmall(t *testing.T) {
	if size := unsafe.Sizeof(State{}); size > 64 {
		t.Errorf("%d bytes, at most 64: a pool may have ten thousand", size)
	}
}

func TestSuccessAllocatesNothing(t *testing.T) {
	policy, state := policyOf(t, passiveOf(time.Second, 1), detectionOf(nil)), &State{}
	if n := testing.AllocsPerRun(100, func() { state.Observe(policy, good, time.Hour) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestFailing checks which states count as failing: a suspect, and one that was out until it succeeds.
func TestFailing(t *testing.T) {
	policy := policyOf(t, nil, detectionOf(func(o *dynamic.OutlierDetection) { o.ConsecutiveFailures = new(2) }))
	var state State
	expect := func(what string, want bool) {
		t.Helper()
		if got := state.Failing(); got != want {
			t.Errorf("%s: failing is %v", what, got)
		}
	}
	expect("at first", false)
	state.Observe(policy, Result{Unreachable: true}, 1)
	expect("after one failure", false)
	state.Observe(policy, Result{Unreachable: true}, 2)
	expect("as a suspect", true)
	state.Eject(policy, 3, false)
	expect("while it is out", false)
	state.Return(4)
	expect("when it is back", true)
	state.Observe(policy, Result{Unreachable: true}, 5)
	expect("when it fails again", true)
	state.Observe(policy, Result{Status: 200}, 6)
	expect("when it has succeeded", false)
	state.Observe(policy, Result{Unreachable: true}, 7)
	expect("at the next failure", false)
}

// TestAnEjectionWithoutEnd has a time that no clock can hold.
func TestAnEjectionWithoutEnd(t *testing.T) {
	policy, state := policyOf(t, passiveOf(math.MaxInt64, 1), nil), &State{}
	state.Observe(policy, refused, time.Hour)
	if until := state.Eject(policy, time.Hour, false); until < time.Hour {
		t.Errorf("it ended at %v", until)
	}
}
