package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The streams below are what go 1.26 prints, shortened to the fields that count.
const (
	passing = `{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestOne"}
{"Action":"run","Package":"a","Test":"TestOne/sub"}
{"Action":"pass","Package":"a","Test":"TestOne/sub"}
{"Action":"pass","Package":"a","Test":"TestOne"}
{"Action":"pass","Package":"a","Elapsed":0.5}
`
	failing = `{"Action":"run","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Test":"TestBad","Output":"    b_test.go:3: 1 is not 2\n"}
{"Action":"fail","Package":"b","Test":"TestBad"}
{"Action":"output","Package":"b","Output":"FAIL\n"}
{"Action":"fail","Package":"b","Elapsed":0.5}
`
	skipping = `{"Action":"run","Package":"c","Test":"TestTool"}
{"Action":"output","Package":"c","Test":"TestTool","Output":"    c_test.go:9: missing tool: nginx\n"}
{"Action":"output","Package":"c","Test":"TestTool","Output":"--- SKIP: TestTool (0.00s)\n"}
{"Action":"skip","Package":"c","Test":"TestTool"}
{"Action":"pass","Package":"c","Elapsed":0.5}
`
	excusedSkip = `{"Action":"run","Package":"c","Test":"TestGovulncheck"}
{"Action":"output","Package":"c","Test":"TestGovulncheck","Output":"    c_test.go:9: missing tool: govulncheck\n"}
{"Action":"skip","Package":"c","Test":"TestGovulncheck"}
{"Action":"pass","Package":"c","Elapsed":0.5}
`
	unbuilt = `{"ImportPath":"d","Action":"build-output","Output":"d.go:1:1: undefined: x\n"}
{"ImportPath":"d","Action":"build-fail"}
{"Action":"start","Package":"d"}
{"Action":"output","Package":"d","Output":"FAIL\td [build failed]\n"}
{"Action":"fail","Package":"d","FailedBuild":"d"}
`
	died = `{"Action":"run","Package":"e","Test":"TestExit"}
{"Action":"output","Package":"e","Test":"TestExit","Output":"about to exit\n"}
{"Action":"fail","Package":"e","Elapsed":0.1}
`
	leaking = `{"Action":"run","Package":"f","Test":"TestFine"}
{"Action":"pass","Package":"f","Test":"TestFine"}
{"Action":"output","Package":"f","Output":"goleak: Errors on successful test run\n"}
{"Action":"fail","Package":"f","Elapsed":0.1}
`
)

func TestTally(t *testing.T) {
	tests := []struct {
		name, stream string
		strict       bool
		line         string
		shows        []string
		code         int
	}{
		{"subtests count", passing, true, "2 passed, 0 failed, 0 skipped", []string{"ok   a"}, 0},
		{
			"a failure shows its output", passing + failing, false, "2 passed, 1 failed, 0 skipped",
			[]string{"1 is not 2", "FAIL b (0.5 s)"},
			1,
		},
		{
			"a skip shows its reason", passing + skipping, false, "2 passed, 0 failed, 1 skipped",
			[]string{"skip c: TestTool: missing tool: nginx"},
			0,
		},
		{
			"a skip fails in CI", passing + skipping, true, "2 passed, 1 failed, 0 skipped",
			[]string{"CI=true does not allow: missing tool: nginx"},
			1,
		},
		{
			"one test is excused in CI", passing + excusedSkip, true, "2 passed, 0 failed, 1 skipped",
			[]string{"skip c: TestGovulncheck: missing tool"},
			0,
		},
		{"a package that does not build", passing + unbuilt, false, "2 passed, 1 failed, 0 skipped", []string{
			"undefined: x",
			"[build failed]",
		}, 1},
		{"a process that dies in a test", died, false, "0 passed, 1 failed, 0 skipped", []string{
			"about to exit",
			"TestExit did not end",
		}, 1},
		{"a failure after the tests", leaking, false, "1 passed, 1 failed, 0 skipped", []string{
			"goleak: Errors",
			"FAIL f (outside its tests)",
		}, 1},
		{"nothing ran", "", false, "0 passed, 1 failed, 0 skipped", []string{"no test ran"}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			tally := newTally(&out, test.strict)
			if err := tally.read(strings.NewReader(test.stream)); err != nil {
				t.Fatal(err)
			}
			if code := tally.finish(); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if diff := cmp.Diff(test.line, lines[len(lines)-1]); diff != "" {
				t.Errorf("last line (-want +got):\n%s", diff)
			}
			if n := strings.Count(out.String(), " passed, "); n != 1 {
				t.Errorf("the summary stands there %d times", n)
			}
			for _, want := range test.shows {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output lacks %q:\n%s", want, out.String())
				}
			}
		})
	}
}

func TestTallyRefusesWhatIsNoEvent(t *testing.T) {
	if err := newTally(&bytes.Buffer{}, false).read(strings.NewReader("panic: no\n")); err == nil {
		t.Error("a broken stream was taken for a complete one")
	}
}

func TestPlan(t *testing.T) {
	t.Chdir("../..")
	phases, err := plan(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	for i, one := range phases {
		if weaker := i == 0; (one.lacks != "") != weaker {
			t.Errorf("without a C compiler only the unit tests are weaker: %+v", one)
		}
		if len(one.packages) == 0 {
			t.Errorf("%s has no packages", one.name)
		}
	}
	for _, module := range []string{"sdk/propagate", "sdk/propagate/propagategrpc"} {
		if !slices.ContainsFunc(phases[:len(phases)-1], func(one phase) bool { return one.dir == module }) {
			t.Errorf("the tests of %s are not run", module)
		}
	}
	if _, err := plan(t.Context(), "all", true); err == nil {
		t.Error("an unknown phase was accepted")
	}
}
