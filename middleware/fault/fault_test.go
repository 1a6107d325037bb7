package fault_test

import (
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/fault"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steps is how many steps 100 % have.
const steps = 1_000_000

func build(t testing.TB, config dynamic.Fault, draws ...int64) *fault.Fault {
	t.Helper()
	var options fault.Options
	if len(draws) > 0 {
		options.Random = func(n int64) int64 {
			if n != steps || len(draws) == 0 {
				t.Fatalf("a number below %d is drawn, left are %d", n, len(draws))
			}
			next := draws[0]
			draws = draws[1:]
			return next
		}
	}
	step, err := fault.New("m@file", config, options)
	if err != nil {
		t.Fatal(err)
	}
	return step
}

// abort is a definition that answers 503 to requests with the headers.
func abort(headers map[string]string) dynamic.Fault {
	config := dynamic.Fault{Headers: headers, Abort: new(dynamic.FaultAbort)}
	config.Abort.SetDefaults()
	return config
}

// outcome serves a request and returns its status, 200 of the service, or "reset".
func outcome(handler func(http.Handler) http.Handler, r *http.Request) (result string) {
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it the same way.
			result = "reset"
		} else if cause != nil {
			panic(cause)
		}
	}()
	w := httptest.NewRecorder()
	handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
	return fmt.Sprint(w.Code)
}

func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	unavailable := 14
	want := map[string]*dynamic.Fault{
		"slow-and-failing": {
			Delay: &dynamic.FaultDelay{Duration: 2e9, Percentage: 10},
			Abort: &dynamic.FaultAbort{Status: 503, GRPCStatus: &unavailable, Percentage: 0.5},
		},
		"broken-for-testers": {
			Headers: map[string]string{"X-Test-Fault": "reset"}, Reset: &dynamic.FaultReset{Percentage: 100},
		},
	}
	for name, config := range want {
		if diff := cmp.Diff(config, examples[name].Fault); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if warnings := build(t, *config).Warnings(); len(warnings) > 0 {
			t.Errorf("%s: %q", name, warnings)
		}
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	high, negative := 17, -1
	for want, config := range map[string]dynamic.Fault{
		"fault.headers has a key that is not the name of a header":    {Headers: map[string]string{"X Y": "hidden"}},
		"fault.maxActive -1 is negative":                              {MaxActive: -1},
		"fault.delay.duration 0s is not more than 0":                  {Delay: &dynamic.FaultDelay{Percentage: 100}},
		"fault.delay.duration -1s is not more than 0":                 {Delay: &dynamic.FaultDelay{Duration: -1e9}},
		"fault.delay.percentage -1 is not from 0 to 100":              {Delay: &dynamic.FaultDelay{Duration: 1, Percentage: -1}},
		"fault.abort.status 199 is not a status code from 200 to 599": {Abort: &dynamic.FaultAbort{Status: 199}},
		"fault.abort.status 600 is not a status code from 200 to 599": {Abort: &dynamic.FaultAbort{Status: 600}},
		"fault.abort.grpcStatus 17 is not a status code of gRPC, 0 to 16": {
			Abort: &dynamic.FaultAbort{Status: 503, GRPCStatus: &high},
		},
		"fault.abort.grpcStatus -1 is not a status code of gRPC, 0 to 16": {
			Abort: &dynamic.FaultAbort{Status: 503, GRPCStatus: &negative},
		},
		"fault.abort.percentage 100.5 is not from 0 to 100": {Abort: &dynamic.FaultAbort{Status: 503, Percentage: 100.5}},
		"fault.reset.percentage NaN is not from 0 to 100":   {Reset: &dynamic.FaultReset{Percentage: math.NaN()}},
		"fault.reset.percentage 0.00005 is not a multiple of 0.0001": {
			Reset: &dynamic.FaultReset{Percentage: 0.00005},
		},
	} {
		if step, err := fault.New("m@file", config, fault.Options{}); step != nil || err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	for _, test := range []struct {
		config dynamic.Fault
		want   string
	}{
		{dynamic.Fault{}, "fault sets none of delay, reset and abort, so nothing is injected"},
		{
			dynamic.Fault{MaxActive: 1, Reset: &dynamic.FaultReset{}},
			"fault.maxActive has no effect without fault.delay",
		},
		{
			dynamic.Fault{Reset: &dynamic.FaultReset{Percentage: 100}, Abort: &dynamic.FaultAbort{Status: 500}},
			"fault.abort has no effect: fault.reset ends all requests before it",
		},
		{dynamic.Fault{MaxActive: 1, Delay: &dynamic.FaultDelay{Duration: 1}}, ""},
	} {
		if got := strings.Join(build(t, test.config).Warnings(), "\n"); got != test.want {
			t.Errorf("%+v: warns %q, want %q", test.config, got, test.want)
		}
	}
}

// TestShares has each percentage meet the last number that is drawn for it, and the first that is not.
func TestShares(t *testing.T) {
	for percentage, share := range map[float64]int64{
		0.0001: 1, 0.07: 700, 0.5: 5000, 1: 10_000, 33.3333: 333_333, 50: 500_000, 99.9999: 999_999,
	} {
		for number, want := range map[int64]string{share - 1: "503", share: "200"} {
			config := abort(nil)
			config.Abort.Percentage = percentage
			if got := outcome(build(t, config, number).Wrap, middlewaretest.Request(t, "GET /")); got != want {
				t.Errorf("%v %% and the number %d: %s, want %s", percentage, number, got, want)
			}
		}
	}
}

// TestDraws draws once for each fault, in the order of the documentation, and not at all for 0 and 100 %.
func TestDraws(t *testing.T) {
	const in, out = 0, steps - 1
	for _, test := range []struct {
		delay, reset, abort float64
		draws               []int64
		want                string
		counts              string
	}{
		{50, 50, 50, []int64{out, out, out}, "200", ""},
		{50, 50, 50, []int64{in, out, out}, "200", "delayed"},
		{50, 50, 50, []int64{out, in}, "reset", "reset"},
		{50, 50, 50, []int64{in, in}, "reset", "delayed reset"},
		{50, 50, 50, []int64{out, out, in}, "503", "aborted"},
		{50, 50, 50, []int64{in, out, in}, "503", "aborted delayed"},
		{100, 50, 0, []int64{out}, "200", "delayed"},
		{0, 0, 50, []int64{in}, "503", "aborted"},
		{0, 100, 50, nil, "reset", "reset"},
		{0, 0, 100, nil, "503", "aborted"},
		{0, 0, 0, nil, "200", ""},
	} {
		drawn := 0
		step, err := fault.New("m@file", dynamic.Fault{
			Delay: &dynamic.FaultDelay{Duration: 1, Percentage: test.delay},
			Reset: &dynamic.FaultReset{Percentage: test.reset},
			Abort: &dynamic.FaultAbort{Status: 503, Percentage: test.abort},
		}, fault.Options{Random: func(int64) int64 {
			drawn++
			return test.draws[drawn-1]
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := outcome(step.Wrap, middlewaretest.Request(t, "GET /"))
		var counted []string
		for name, count := range step.Counts() {
			if count == 1 {
				counted = append(counted, name)
			}
		}
		slices.Sort(counted)
		if counts := strings.Join(counted, " "); got != test.want || counts != test.counts || drawn != len(test.draws) {
			t.Errorf("%+v: %s, counts %q after %d draws", test, got, counts, drawn)
		}
	}
}

// TestChance has the default source of numbers meet a percentage, within ten standard deviations.
func TestChance(t *testing.T) {
	config := abort(nil)
	config.Abort.Percentage = 25
	step := build(t, config)
	for range 20_000 {
		outcome(step.Wrap, middlewaretest.Request(t, "GET /"))
	}
	if got := step.Counts()["aborted"]; got < 4_400 || got > 5_600 {
		t.Errorf("%d of 20000 requests are answered", got)
	}
}

func TestHeaders(t *testing.T) {
	for _, test := range []struct {
		headers map[string]string
		fields  []string
		want    string
	}{
		{nil, nil, "503"},
		{map[string]string{"X-Fault": "on"}, nil, "200"},
		{map[string]string{"X-Fault": "on"}, []string{"X-Fault: on"}, "503"},
		{map[string]string{"x-fault": "on"}, []string{"X-FAULT: on"}, "503"},
		{map[string]string{"X-Fault": "on"}, []string{"X-Fault: ON"}, "200"},
		{map[string]string{"X-Fault": "on"}, []string{"X-Fault: on, off"}, "200"},
		{map[string]string{"X-Fault": "on"}, []string{"X-Fault: off", "X-Fault: on"}, "503"},
		{map[string]string{"X-Fault": "on"}, []string{"X_Fault: on"}, "200"},
		{map[string]string{"X-Fault": ""}, []string{"X_Fault: on"}, "200"},
		{map[string]string{"X-Fault": ""}, []string{"X-Fault: any"}, "503"},
		{map[string]string{"X-Fault": ""}, []string{"X-Fault:"}, "503"},
		{map[string]string{"X-Fault": "", "X-User": "me"}, []string{"X-Fault: any"}, "200"},
		{map[string]string{"X-Fault": "", "X-User": "me"}, []string{"X-Fault: any", "X-User: me"}, "503"},
		{map[string]string{"Host": "example.com"}, nil, "503"},
		{map[string]string{"Host": "example.org"}, nil, "200"},
		{map[string]string{"host": ""}, nil, "503"},
	} {
		r := middlewaretest.Request(t, "GET /", test.fields...)
		if got := outcome(build(t, abort(test.headers)).Wrap, r); got != test.want {
			t.Errorf("%v with %q: %s, want %s", test.headers, test.fields, got, test.want)
		}
	}
}

// TestOff has a fault without effect cost nothing: the handler is the next one.
func TestOff(t *testing.T) {
	next := http.NewServeMux()
	for _, config := range []dynamic.Fault{
		{},
		{
			Delay: &dynamic.FaultDelay{Duration: 1}, Reset: &dynamic.FaultReset{},
			Abort: &dynamic.FaultAbort{Status: 500},
		},
	} {
		if got := build(t, config).Wrap(next); got != http.Handler(next) {
			t.Errorf("%+v: wraps in %T", config, got)
		}
	}
}

func BenchmarkFault(b *testing.B) {
	rare := abort(nil)
	rare.Abort.Percentage = 0.0001
	for name, config := range map[string]dynamic.Fault{
		"other header": abort(map[string]string{"X-Fault": "on"}), "not drawn": rare,
	} {
		b.Run(name, func(b *testing.B) {
			handler := build(b, config).Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r, w := middlewaretest.Request(b, "GET /", "X-Fault: off"), new(middlewaretest.Writer)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(w, r)
			}
		})
	}
}
