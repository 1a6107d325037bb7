package circuitbreaker

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// onErrors is the expression of most tests.
const onErrors = "NetworkErrorRatio() > 0.5"

func build(t testing.TB, config dynamic.CircuitBreaker, logger telemetry.Logger) *CircuitBreaker {
	t.Helper()
	c, err := New("careful@file", config, Options{Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// settings are what New makes of a definition.
type settings struct {
	Period, Fallback, Recovery time.Duration
	Status                     int
	Shared                     bool
}

func (c *CircuitBreaker) settings() settings {
	return settings{c.period, c.fallback, c.recovery, c.status, c.shared != nil}
}

func TestReadme(t *testing.T) {
	definitions := middlewaretest.Examples(t, "README.md")
	for name, want := range map[string]settings{
		"careful":   {100 * time.Millisecond, 10 * time.Second, 10 * time.Second, 503, false},
		"impatient": {time.Second, 30 * time.Second, time.Minute, 429, true},
	} {
		if diff := cmp.Diff(want, build(t, *definitions[name].CircuitBreaker, nil).settings()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestZeroStandsForTheDefault(t *testing.T) {
	var defaults dynamic.CircuitBreaker
	defaults.SetDefaults()
	defaults.Expression = onErrors
	got := build(t, dynamic.CircuitBreaker{Expression: onErrors}, nil)
	if diff := cmp.Diff(build(t, defaults, nil).settings(), got.settings()); diff != "" {
		t.Error(diff)
	}
	if got.fallback != 10*time.Second || got.recovery != 10*time.Second || got.period != 100*time.Millisecond ||
		got.status != 503 {
		t.Errorf("the defaults are %+v", got.settings())
	}
}

func TestBadDefinitions(t *testing.T) {
	tests := []struct {
		config dynamic.CircuitBreaker
		reason string
	}{
		{dynamic.CircuitBreaker{}, "circuitBreaker.expression: it is empty"},
		{dynamic.CircuitBreaker{Expression: onErrors, CheckPeriod: -1}, "circuitBreaker.checkPeriod -1ns is negative"},
		{
			dynamic.CircuitBreaker{Expression: onErrors, FallbackDuration: ptypes.Duration(-time.Second)},
			"circuitBreaker.fallbackDuration -1s is negative",
		},
		{
			dynamic.CircuitBreaker{Expression: onErrors, RecoveryDuration: -1},
			"circuitBreaker.recoveryDuration -1ns is negative",
		},
		{
			dynamic.CircuitBreaker{Expression: onErrors, ResponseCode: -1},
			"circuitBreaker.responseCode -1 is not a final status code (200 to 599)",
		},
		{dynamic.CircuitBreaker{Expression: onErrors, ResponseCode: 103}, "circuitBreaker.responseCode 103 is not"},
		{dynamic.CircuitBreaker{Expression: onErrors, ResponseCode: 600}, "circuitBreaker.responseCode 600 is not"},
		{
			dynamic.CircuitBreaker{Expression: `Latency() > 1`},
			`circuitBreaker.expression: unknown function "Latency"; one of LatencyAtQuantileMS, NetworkErrorRatio, ` +
				`RequestThreshold, ResponseCodeRatio`,
		},
	}
	for _, test := range tests {
		c, err := New("careful@file", test.config, Options{})
		if c != nil || err == nil || !strings.HasPrefix(err.Error(), test.reason) {
			t.Errorf("%+v: %v, want %q", test.config, err, test.reason)
		}
	}
}

func TestOwnersTripAlone(t *testing.T) {
	for _, shared := range []bool{false, true} {
		c := build(t, dynamic.CircuitBreaker{Expression: onErrors, Shared: shared}, nil)
		web, other := c.For("router web@file"), c.For("router other@file")
		if (web == other) != shared {
			t.Errorf("shared %v: one breaker is %v", shared, web == other)
		}
		fail := answering(http.StatusBadGateway)
		if status, _ := ask(t, web.Wrap(fail)); status != http.StatusBadGateway {
			t.Errorf("the first request is answered with %d", status)
		}
		want := map[bool]int{false: http.StatusOK, true: http.StatusServiceUnavailable}[shared]
		if status, _ := ask(t, other.Wrap(answering(http.StatusOK))); status != want {
			t.Errorf("shared %v: the other owner's request is answered with %d", shared, status)
		}
		if status, _ := ask(t, web.Wrap(fail)); status != http.StatusServiceUnavailable {
			t.Errorf("after a trip a request is answered with %d", status)
		}
		refused := map[bool]uint64{false: 1, true: 2}[shared]
		if diff := cmp.Diff(map[string]uint64{"tripped": 1, "recovered": 0, "refused": refused}, c.Counts()); diff != "" {
			t.Error(diff)
		}
		if state, levels := web.(*breaker).Status(); state != "tripped" || levels != nil {
			t.Errorf("the breaker is %s, %v", state, levels)
		}
	}
}

// answering is a service that answers with a status; 0 leaves it to the server.
func answering(status int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status != 0 {
			w.WriteHeader(status)
		}
	})
}

// ask sends a request, and returns the status and the reason of a refusal.
func ask(t testing.TB, handler http.Handler) (status int, reason string) {
	t.Helper()
	record := new(telemetry.Record)
	r := middlewaretest.Request(t, "GET /")
	w := new(middlewaretest.Writer)
	handler.ServeHTTP(w, r.WithContext(telemetry.WithRecord(t.Context(), record)))
	if w.Status == 0 {
		w.Status = http.StatusOK
	}
	return w.Status, record.Reason
}

// lines is a logger that records its lines.
type lines struct {
	telemetry.Discard
	mutex sync.Mutex
	kept  []string
}

func (l *lines) keep(level, message string, rest []any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	words := []string{level, message}
	for i := 0; i+1 < len(rest); i += 2 {
		words = append(words, text(rest[i])+"="+text(rest[i+1]))
	}
	l.kept = append(l.kept, strings.Join(words, " "))
}

// Debug keeps a line.
func (l *lines) Debug(message string, rest ...any) { l.keep("debug", message, rest) }

// Info keeps a line.
func (l *lines) Info(message string, rest ...any) { l.keep("info", message, rest) }

// Warn keeps a line.
func (l *lines) Warn(message string, rest ...any) { l.keep("warn", message, rest) }

// taken returns the lines so far and clears them.
func (l *lines) taken() []string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	kept := slices.Clone(l.kept)
	l.kept = nil
	return kept
}

func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return fmt.Sprint(value)
}
