package ratelimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/ratelimit"
)

// limiter returns a handler behind a limit.
func limiter(t testing.TB, config dynamic.RateLimit) http.Handler {
	t.Helper()
	step, err := ratelimit.New("m@file", config, ratelimit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(step.Close)
	return step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
}

// statuses returns those of requests, one after the other.
func statuses(t testing.TB, handler http.Handler, times int, remote string, headers ...string) string {
	t.Helper()
	var all []string
	for range times {
		w := httptest.NewRecorder()
		r := middlewaretest.Request(t, "GET /", headers...)
		r.RemoteAddr = remote
		handler.ServeHTTP(w, r)
		all = append(all, fmt.Sprint(w.Code))
	}
	return strings.Join(all, " ")
}

// TestNginx limits as limit_req of nginx with "rate=5r/s burst=3 nodelay" does: four requests at once, then one every
// 200 ms, none of which waits.
func TestNginx(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := limiter(t, dynamic.RateLimit{
			Average: 5, Period: ptypes.Duration(time.Second), Burst: 4, NoDelay: true, StatusCode: http.StatusServiceUnavailable,
		})
		start := time.Now()
		if got := statuses(t, handler, 6, "192.0.2.1:1"); got != "204 204 204 204 503 503" {
			t.Error(got)
		}
		<-time.NewTimer(199 * time.Millisecond).C
		if got := statuses(t, handler, 1, "192.0.2.1:1"); got != "503" {
			t.Error(got)
		}
		<-time.NewTimer(time.Millisecond).C
		if got := statuses(t, handler, 2, "192.0.2.1:1"); got != "204 503" {
			t.Error(got)
		}
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("requests have waited: %v", took)
		}
	})
}

// TestDelay is what noDelay turns off.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := limiter(t, dynamic.RateLimit{Average: 10, Period: ptypes.Duration(time.Second), Burst: 1})
		statuses(t, handler, 1, "192.0.2.1:1")
		<-time.NewTimer(60 * time.Millisecond).C
		start := time.Now()
		if got := statuses(t, handler, 1, "192.0.2.1:1"); got != "204" || time.Since(start) != 40*time.Millisecond {
			t.Errorf("%s after %v", got, time.Since(start))
		}
	})
}

func TestExcludedSourceRange(t *testing.T) {
	config := dynamic.RateLimit{
		Average: 1, Period: ptypes.Duration(time.Hour), Burst: 1, NoDelay: true,
		ExcludedSourceRange: []string{"192.0.2.0/24", "2001:db8::1"},
	}
	handler := limiter(t, config)
	for remote, want := range map[string]string{
		"192.0.2.9:1": "204 204 204", "[2001:db8::1]:1": "204 204 204", "[2001:db8::2]:1": "204 429 429",
		"198.51.100.1:1": "204 429 429", "@": "204 429 429",
	} {
		if got := statuses(t, handler, 3, remote, "X-Forwarded-For: 192.0.2.9"); got != want {
			t.Errorf("%s: %s, want %s", remote, got, want)
		}
	}
	subnet := 64
	config.SourceCriterion = &dynamic.SourceCriterion{IPStrategy: &dynamic.IPStrategy{Depth: 1, IPv6Subnet: &subnet}}
	handler = limiter(t, config)
	for forwarded, want := range map[string]string{
		"192.0.2.9": "204 204", "2001:db8::1": "204 204", "2001:db8::2": "204 429", "198.51.100.1": "204 429",
	} {
		if got := statuses(t, handler, 2, "192.0.2.9:1", "X-Forwarded-For: "+forwarded); got != want {
			t.Errorf("%s: %s, want %s", forwarded, got, want)
		}
	}
}

func TestRefusesOptions(t *testing.T) {
	for want, config := range map[string]dynamic.RateLimit{
		"rateLimit.statusCode 200 is not the status of an error, 400 to 599": {StatusCode: 200},
		"rateLimit.statusCode 600 is not":                                    {StatusCode: 600},
		`rateLimit.excludedSourceRange: "local" is neither`:                  {ExcludedSourceRange: []string{"local"}},
	} {
		_, err := ratelimit.New("m@file", config, ratelimit.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
