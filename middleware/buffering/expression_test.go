package buffering

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vulcand/oxy/v2/buffer"
)

func TestExpressions(t *testing.T) {
	for source, want := range map[string][]bool{ // for the tries below
		`IsNetworkError()`:                                    {false, true, true, false},
		`Attempts() < 2`:                                      {true, false, true, false},
		`Attempts() <= 2`:                                     {true, true, true, false},
		`Attempts() > 2`:                                      {false, false, false, true},
		`Attempts() >= 2`:                                     {false, true, false, true},
		`ResponseCode() == 200`:                               {true, false, false, false},
		`ResponseCode() != 200`:                               {false, true, true, true},
		`RequestMethod() == "GET"`:                            {true, true, false, false},
		"RequestMethod() != `GET`":                            {false, false, true, true},
		`IsNetworkError() && Attempts() < 2`:                  {false, false, true, false},
		`IsNetworkError() || Attempts() < 2`:                  {true, true, true, false},
		`ResponseCode()==500||IsNetworkError()&&Attempts()<2`: {false, false, true, true},
		`(ResponseCode() == 500 || IsNetworkError()) && (Attempts() < 2)`: {false, false, true, false},
	} {
		condition, err := parse(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		for i, try := range []try{{"GET", 1, 200}, {"GET", 2, 502}, {"POST", 1, 504}, {"POST", 3, 500}} {
			if got := condition(try); got != want[i] {
				t.Errorf("%s of %+v is %v", source, try, got)
			}
			if got := oxySays(t, source, try); got != want[i] {
				t.Errorf("%s of %+v is %v for oxy", source, try, got)
			}
		}
	}
}

// oxySays evaluates with the library that the language is from: a try after which its buffer makes no other is the
// last.
func oxySays(t *testing.T, source string, ask try) bool {
	t.Helper()
	tries := 0
	handler, err := buffer.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries++
		status := 100 + tries // No expression of the test has it.
		if tries >= ask.number {
			status = ask.status
		}
		w.WriteHeader(status)
	}), buffer.Retry("Attempts() < "+string(rune('0'+ask.number))+" || ("+source+") && Attempts() == "+
		string(rune('0'+ask.number))))
	if err != nil {
		t.Fatal(err)
	}
	handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), ask.method, "/", nil))
	return tries > ask.number
}

func TestBadExpressions(t *testing.T) {
	for source, want := range map[string]string{
		` `:               "expected operand",
		`IsNetworkError(`: "expected",
		`Attempts()`:      "it is no condition",
		`"GET"`:           "it is no condition",
		`1`:               "it is no condition",
		`Retries() < 2`: "Retries is unknown: the functions are IsNetworkError(), Attempts(), " +
			"ResponseCode() and RequestMethod()",
		`Attempts(1) < 2`:                     "Attempts takes nothing in its parentheses",
		`http.Attempts() < 2`:                 "the functions are",
		`Attempts < 2`:                        "it may consist of",
		`2 > Attempts()`:                      "the sides of > do not fit",
		`Attempts() < "2"`:                    "the sides of < do not fit",
		`Attempts() < 2.5`:                    "2.5 is neither",
		`Attempts() < 0x10`:                   "0x10 is no decimal number",
		`Attempts() < 99999999999999999999`:   "is no decimal number",
		`Attempts() + 2`:                      "numbers are compared by",
		`RequestMethod() < "GET"`:             "RequestMethod() is compared by",
		`RequestMethod() == 'G'`:              "is neither",
		`RequestMethod() == GET`:              "it may consist of",
		`!IsNetworkError()`:                   "it may consist of",
		`IsNetworkError() == true`:            "it may consist of",
		`IsNetworkError() + IsNetworkError()`: "conditions are joined by",
		`IsNetworkError() && Attempts()`:      "the sides of && do not fit",
		strings.Repeat("(", 5000):             "longer than 4096 bytes",
	} {
		if _, err := parse(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %q", source, err, want)
		}
	}
}

// FuzzExpression accepts what oxy accepts, and nothing else.
func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		`IsNetworkError() && Attempts() < 2`, `(ResponseCode() == 500) || RequestMethod() != "GET"`, `!IsNetworkError()`,
		`Attempts()`,
		`Attempts() < 2 && "a"`, `IsNetworkError() == IsNetworkError()`, `Attempts() < -1`, `RequestMethod() == ""`, `((((`,
		"1 < 2", `"a" == "a"`,
		`ResponseCode() == Attempts()`, `Attempts () < 2`, "Attempts() < 2 // two", `a.b < 2`, `a[1] == 2`,
		`Attempts(Attempts()) < 2`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > maxExpression {
			return
		}
		condition, err := parse(source)
		if valid := buffer.IsValidExpression(source); valid != (err == nil) {
			t.Errorf("%q: %v, but oxy says %v", source, err, valid)
		}
		if err == nil {
			condition(try{"GET", 1, 200})
		}
	})
}
