package retry

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestDefaultPolicy(t *testing.T) {
	want := &Policy{Attempts: 2, MaxBody: 65536, On: OnAny, BudgetPercent: 20}
	declared := new(dynamic.ServerRetry)
	declared.SetDefaults()
	for _, config := range []*dynamic.ServerRetry{nil, {}, declared} {
		got, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(dynamic.StatusCodes{})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPolicy(t *testing.T) {
	attempts, body, percent := 5, int64(0), 0
	got, err := New(&dynamic.ServerRetry{
		Attempts: &attempts, MaxRequestBodyBytes: &body, BudgetPercent: &percent, Status: []string{"502", "5xx"},
		PerTryTimeout: ptypes.Duration(time.Second), RetryNonIdempotentMethod: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Attempts != 5 || got.MaxBody != 0 || got.BudgetPercent != 0 || got.PerTry != time.Second || !got.NonIdempotent {
		t.Errorf("the policy is %+v", got)
	}
	if !got.Status.Contains(503) || got.Status.Contains(404) || got.Again {
		t.Errorf("the policy is %+v", got)
	}
}

func TestErrors(t *testing.T) {
	negative, much := -1, 1001
	for option, config := range map[string]dynamic.ServerRetry{
		"retry.attempts -1":                  {Attempts: &negative},
		"retry.attempts 1001":                {Attempts: &much},
		"retry.budgetPercent -2":             {BudgetPercent: new(-2)},
		"retry.initialInterval -1s":          {InitialInterval: ptypes.Duration(-time.Second)},
		"retry.disableRetryOnNetworkError":   {DisableRetryOnNetworkError: true},
		"retry.budgetPercent 1001":           {BudgetPercent: &much},
		"retry.perTryTimeout -1ns":           {PerTryTimeout: -1},
		"retry.status \"700\"":               {Status: []string{"700"}},
		"retry.timeout -1s is negative":      {Timeout: ptypes.Duration(-time.Second)},
		"retry.retryOn is empty":             {RetryOn: []string{}},
		"retry.retryOn \"reset\" is none of": {RetryOn: []string{"error", "reset"}},
		"retry.disableRetryOnNetworkError and retry.retryOn exclude": {
			RetryOn: []string{"error"}, DisableRetryOnNetworkError: true,
		},
	} {
		if _, err := New(&config); err == nil || !strings.HasPrefix(err.Error(), option) {
			t.Errorf("%q is wanted, the error is %v", option, err)
		}
	}
}

func TestConditions(t *testing.T) {
	for _, row := range []struct {
		names []string
		want  Condition
	}{
		{nil, OnError | OnTimeout | OnInvalidHeader},
		{[]string{"error"}, OnError},
		{[]string{"timeout", "error", "timeout"}, OnError | OnTimeout},
		{[]string{"invalid-header"}, OnInvalidHeader},
	} {
		got, err := New(&dynamic.ServerRetry{RetryOn: row.names, Timeout: ptypes.Duration(time.Minute)})
		if err != nil || got.On != row.want || got.Timeout != time.Minute {
			t.Errorf("%q: %+v, %v", row.names, got, err)
		}
	}
	got, err := New(&dynamic.ServerRetry{DisableRetryOnNetworkError: true, Status: []string{"503"}})
	if err != nil || got.On != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestRepeats(t *testing.T) {
	for method, want := range map[string]bool{
		"": true, http.MethodGet: true, http.MethodHead: true, http.MethodOptions: true, http.MethodTrace: true,
		http.MethodPut:    true,
		http.MethodDelete: true, http.MethodPost: false, http.MethodPatch: false, "LOCK": false, "get": false,
		http.MethodConnect: false,
	} {
		if got := (&Policy{}).Repeats(method); got != want {
			t.Errorf("%q is repeated: %v", method, got)
		}
		if !(&Policy{NonIdempotent: true}).Repeats(method) {
			t.Errorf("%q is not repeated whatever it is", method)
		}
	}
}

// TestWait grows from the interval to twice that, at random by half.
func TestWait(t *testing.T) {
	policy := &Policy{Attempts: 3, InitialInterval: 100 * time.Millisecond}
	for number, most := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 142 * time.Millisecond,
		3: 200 * time.Millisecond, 9: 200 * time.Millisecond,
	} {
		longest := time.Duration(0)
		for range 1000 {
			wait := policy.Wait(number)
			if wait < most*49/100 || wait > most {
				t.Fatalf("the wait before retry %d is %s", number, wait)
			}
			longest = max(longest, wait)
		}
		if longest < most*9/10 {
			t.Errorf("the longest of many waits before retry %d is %s", number, longest)
		}
	}
	if wait := (&Policy{Attempts: 1, InitialInterval: time.Second}).Wait(1); wait < time.Second/2 || wait > time.Second {
		t.Errorf("the only wait is %s", wait)
	}
	if wait := (&Policy{Attempts: 2}).Wait(1); wait != 0 {
		t.Errorf("without an interval the wait is %s", wait)
	}
}

func TestContext(t *testing.T) {
	type key struct{}
	below := context.WithValue(t.Context(), key{}, "value")
	policy := new(Policy)
	ctx := WithPolicy(below, policy)
	if PolicyFrom(ctx) != policy || PolicyFrom(below) != nil || ctx.Value(key{}) != "value" {
		t.Errorf("the context holds %v and %v", PolicyFrom(ctx), ctx.Value(key{}))
	}
	if ends, ok := ctx.(interface{ EndsWith() context.Context }); !ok || ends.EndsWith() != below {
		t.Error("the context does not say what it is made of")
	}
}

// TestNoBudget allows every retry.
func TestNoBudget(t *testing.T) {
	b := NewBudget(NoBudget)
	for range 1000 {
		if !b.Withdraw(0) {
			t.Fatal("a retry is refused")
		}
	}
}

// TestLeastWait waits for at least the initial interval.
func TestLeastWait(t *testing.T) {
	p, err := New(&dynamic.ServerRetry{InitialInterval: ptypes.Duration(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for number := 1; number <= p.Attempts; number++ {
		for range 100 {
			if wait := p.Wait(number); wait < time.Second || wait > 4*time.Second {
				t.Fatalf("the wait before retry %d is %s", number, wait)
			}
		}
	}
}
