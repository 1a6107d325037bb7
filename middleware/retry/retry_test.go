package retry

import (
	"net/http"
	"strings"
	"testing"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/retry"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// policy returns what the next handler finds in the context of a request.
func policy(t *testing.T, step *Retry) *retry.Policy {
	t.Helper()
	var got *retry.Policy
	next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = retry.PolicyFrom(r.Context()) })
	step.Wrap(next).ServeHTTP(new(middlewaretest.Writer), middlewaretest.Request(t, "GET /"))
	if got == nil {
		t.Fatal("no policy is in the context")
	}
	return got
}

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["patient"]
	step, err := New("patient@file", *definition.Retry)
	if err != nil {
		t.Fatal(err)
	}
	got := policy(t, step)
	if got.Attempts != 3 || got.InitialInterval != 100*time.Millisecond || got.Timeout != 10*time.Second ||
		got.MaxBody != 2<<20 {
		t.Errorf("the policy is %+v", got)
	}
	if !got.Status.Contains(504) || got.Status.Contains(500) || got.On != retry.OnAny || got.NonIdempotent || !got.Again {
		t.Errorf("the policy is %+v", got)
	}
}

func TestOptions(t *testing.T) {
	none := int64(-1)
	step, err := New("r@file", dynamic.Retry{
		Attempts: 1, MaxRequestBodyBytes: &none, Status: []string{"5xx"}, DisableRetryOnNetworkError: true,
		RetryNonIdempotentMethod: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	got := policy(t, step)
	if got.Attempts != 0 || got.MaxBody != -1 || got.On != 0 || !got.NonIdempotent || !got.Status.Contains(500) {
		t.Errorf("the policy is %+v", got)
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	for option, config := range map[string]dynamic.Retry{
		"retry.attempts must be at least 1": {},
		"retry.attempts 102":                {Attempts: 102},
		"retry.initialInterval -1ns":        {Attempts: 2, InitialInterval: -1},
		"retry.timeout -1s":                 {Attempts: 2, Timeout: ptypes.Duration(-time.Second)},
		"retry.status \"boo\"":              {Attempts: 2, Status: []string{"boo"}},
		"retry.disableRetryOnNetworkError":  {Attempts: 2, DisableRetryOnNetworkError: true},
	} {
		if _, err := New("r@file", config); err == nil || !strings.HasPrefix(err.Error(), option) {
			t.Errorf("%q is wanted, the error is %v", option, err)
		}
	}
}

func BenchmarkRetry(b *testing.B) {
	step, err := New("r@file", dynamic.Retry{Attempts: 3})
	if err != nil {
		b.Fatal(err)
	}
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := middlewaretest.Request(b, "GET /")
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(nil, r)
	}
}
