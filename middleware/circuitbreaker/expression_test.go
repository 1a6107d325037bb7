package circuitbreaker

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// seen is what a window of these tests has seen.
func seen(e *expression, now time.Duration) *window {
	w := newWindow(e)
	for status, n := range map[int]int{200: 10, 404: 4, 500: 3, 502: 2, 504: 1} {
		for range n {
			w.count(now, status)
		}
	}
	if e.timed {
		for ms := range 100 {
			w.took(now, time.Duration(ms+1)*time.Millisecond)
		}
	}
	return w
}

func TestExpressions(t *testing.T) {
	tests := []struct {
		expression string
		want       bool
	}{
		{"NetworkErrorRatio() > 0.14", true},
		{"NetworkErrorRatio() > 0.15", false},
		{"NetworkErrorRatio() >= 0.15", true},
		{"NetworkErrorRatio() == 0.15", true},
		{"NetworkErrorRatio() != 0.15", false},
		{"NetworkErrorRatio() < 0.15", false},
		{"NetworkErrorRatio() <= 0.15", true},
		{"NetworkErrorRatio() < 1", true},
		{"NetworkErrorRatio() < 1e0", true},
		{"ResponseCodeRatio(500, 600, 0, 600) == 0.3", true},
		{"ResponseCodeRatio(500, 502, 0, 600) == 0.15", true},
		{"ResponseCodeRatio(500, 501, 400, 500) == 0.75", true},
		{"ResponseCodeRatio(500, 600, 300, 400) > 0", false},
		{"ResponseCodeRatio(500, 600, 300, 400) == 0", true},
		{"ResponseCodeRatio(0500, 600, 0, 600) == 0.3", true},
		{"RequestThreshold() == 20", true},
		{"RequestThreshold() > 19.5", true},
		{"RequestThreshold() > 20", false},
		{"LatencyAtQuantileMS(50.0) == 50", true},
		{"LatencyAtQuantileMS(50) == 50", true},
		{"LatencyAtQuantileMS(50.0) > 50", false},
		{"LatencyAtQuantileMS(100.0) > 97", true},
		{"LatencyAtQuantileMS(100.0) > 100", false},
		{"LatencyAtQuantileMS(1.0) == 1.0", true},
		{"0.15 == NetworkErrorRatio()", true},
		{"0.14 < NetworkErrorRatio()", true},
		{"0.16 <= NetworkErrorRatio()", false},
		{"0.14 > NetworkErrorRatio()", false},
		{"0.15 >= NetworkErrorRatio()", true},
		{"!(NetworkErrorRatio() > 0.14)", false},
		{"!(NetworkErrorRatio() > 0.14) || RequestThreshold() > 1", true},
		{"(((NetworkErrorRatio()))) > ((0.14))", true},
		{"NetworkErrorRatio() > 0.9 || RequestThreshold() == 20 && LatencyAtQuantileMS(90.0) > 80", true},
		{"(NetworkErrorRatio() > 0.9 || RequestThreshold() == 20) && LatencyAtQuantileMS(90.0) > 90", false},
		{"RequestThreshold() == 20 || NetworkErrorRatio() > 0.9 && NetworkErrorRatio() > 0.9", true},
		{"NetworkErrorRatio( ) > .1 &&\n\tRequestThreshold() > 1 // both", true},
	}
	for _, test := range tests {
		e, err := parse(test.expression)
		if err != nil {
			t.Errorf("%s: %v", test.expression, err)
			continue
		}
		now := 42 * time.Second
		figures := e.figures(seen(e, now), now)
		if e.holds(figures) != test.want {
			t.Errorf("%s is %v: %s", test.expression, !test.want, e.text(figures))
		}
	}
}

func TestWhatIsCounted(t *testing.T) {
	e, err := parse("ResponseCodeRatio(500,600,0,600) > 0.3 && ResponseCodeRatio(400, 500, 0, 600) < 1 && " +
		"NetworkErrorRatio() > 0.1 && NetworkErrorRatio() < 0.9")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]span{{500, 600}, {0, 600}, {400, 500}}, e.ranges, cmp.AllowUnexported(span{})); diff != "" {
		t.Error(diff)
	}
	want := "ResponseCodeRatio(500, 600, 0, 600) is 0.3, ResponseCodeRatio(400, 500, 0, 600) is 0.2, " +
		"NetworkErrorRatio() is 0.15"
	if got := e.text(e.figures(seen(e, 0), 0)); got != want || e.timed {
		t.Errorf("the figures are %q, timed %v", got, e.timed)
	}
}

func TestBadExpressions(t *testing.T) {
	const names = "one of LatencyAtQuantileMS, NetworkErrorRatio, RequestThreshold, ResponseCodeRatio"
	for expression, reason := range map[string]string{
		"":                            "it is empty",
		strings.Repeat("!", 1025):     "it has 1025 bytes, at most 1024 are allowed",
		"NetworkErrorRatio( > 0.5":    "at byte",
		"NetworkErrorRatio() >":       `expected operand, found 'EOF' at byte 22`,
		"NetworkErrorRatio() > 0.5)":  "at byte",
		"NetworkErrorRatio()":         "NetworkErrorRatio is not compared with a number",
		"NetworkErrorRatio":           "it is not made of !, &&, || and comparisons",
		"true":                        "it is not made of !, &&, || and comparisons",
		"0.5":                         "it is not made of !, &&, || and comparisons",
		"-(NetworkErrorRatio() > 1)":  "it is not made of !, &&, || and comparisons",
		"func() bool { return true }": "it is not made of !, &&, || and comparisons",
		"Nope() > 1":                  `unknown function "Nope"; ` + names,
		"Nope()":                      `unknown function "Nope"; ` + names,
		"networkErrorRatio() > 1":     `unknown function "networkErrorRatio"; ` + names,
		"x.NetworkErrorRatio() > 1":   "a call of no function; " + names,
		"NetworkErrorRatio()() > 1":   "a call of no function; " + names,
		"1 > 0":                       "nothing that is counted is on either side of >; " + names,
		"NetworkErrorRatio() > NetworkErrorRatio()": "a function is compared with a function; one side must be a number",
		"NetworkErrorRatio() + 1":                   "unknown operator +; one of !, &&, ||, ==, !=, <, <=, >, >=",
		"NetworkErrorRatio() + 1 > 2":               "nothing that is counted is on either side of >",
		"NetworkErrorRatio() > -1":                  "a number of 0 or more is wanted",
		"NetworkErrorRatio() > true":                "a number of 0 or more is wanted",
		`NetworkErrorRatio() > "1"`:                 `"1" is not a number, or one that is too large`,
		"RequestThreshold() > 0x10":                 "0x10 is not a number",
		"RequestThreshold() > 99999999999":          "99999999999 is not a number, or one that is too large",
		"RequestThreshold() > 1e999":                "1e999 is not a number, or one that is too large",
		"RequestThreshold(3) > 1":                   "RequestThreshold is given 1 arguments and takes 0",
		"LatencyAtQuantileMS() > 1":                 "LatencyAtQuantileMS is given 0 arguments and takes 1",
		"LatencyAtQuantileMS(0.0) > 1":              "LatencyAtQuantileMS(0): a quantile is more than 0 and at most 100",
		"LatencyAtQuantileMS(100.1) > 1":            "LatencyAtQuantileMS(100.1): a quantile is",
		"LatencyAtQuantileMS(-1.0) > 1":             "argument 1 of LatencyAtQuantileMS: a number of 0 or more is wanted",
		"ResponseCodeRatio(500, 600, 0) > 1":        "ResponseCodeRatio is given 3 arguments and takes 4",
		"ResponseCodeRatio(600, 500, 0, 600) > 1":   "no status code is at least 600 and below 500",
		"ResponseCodeRatio(500, 600, 9, 9) > 1":     "no status code is at least 9 and below 9",
		"ResponseCodeRatio(500.5, 600, 0, 6) > 1":   "status codes are whole numbers",
		"ResponseCodeRatio(1e300, 1e301, 0, 6) > 1": "status codes are whole numbers",
		"NetworkErrorRatio() > 1 && Nope() > 1":     `unknown function "Nope"`,
		"Nope() > 1 || NetworkErrorRatio() > 1":     `unknown function "Nope"`,
		"!(Nope() > 1)":                             `unknown function "Nope"`,
	} {
		e, err := parse(expression)
		if e != nil || err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", expression, err, reason)
		}
	}
}

// FuzzExpression proves that no text makes reading panic, and that what was read decides on any figures.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		onErrors, "!(LatencyAtQuantileMS(99.9) >= 3) || RequestThreshold() > 10 && ResponseCodeRatio(500, 600, 0, 600) < 1",
		"", "((((",
		strings.Repeat("(", 500) + "RequestThreshold()>1" + strings.Repeat(")", 500), "func(){}()", "a[b](c...) == <-d",
		"NetworkErrorRatio(...)", "1i > `x`",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parse(text)
		if err != nil {
			return
		}
		if len(e.measures) == 0 {
			t.Errorf("%q is accepted without anything that is counted", text)
		}
		now := 100 * time.Hour
		w := seen(e, now)
		figures := e.figures(w, now)
		_ = e.holds(figures)
		for _, figure := range figures {
			if math.IsNaN(figure) || figure < 0 || !strings.Contains(e.text(figures), " is ") {
				t.Errorf("%q has the figures %q", text, e.text(figures))
			}
		}
	})
}
