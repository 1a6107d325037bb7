package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// excused is the one test that may be skipped with CI=true: its tool and database may be unavailable.
const excused = "TestGovulncheck"

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action     string
	Package    string
	Test       string
	Output     string
	Elapsed    float64
	ImportPath string
}

// key identifies a test; the package itself has an empty test name.
type key struct{ pkg, test string }

// tally counts results and prints the relevant output.
type tally struct {
	out                     io.Writer
	strict                  bool // CI=true: a skip is a failure
	passed, failed, skipped int
	running                 map[key]*strings.Builder // output of each running test or package
	failures                map[string]int           // failed tests by package
}

func newTally(out io.Writer, strict bool) *tally {
	return &tally{out: out, strict: strict, running: map[key]*strings.Builder{}, failures: map[string]int{}}
}

// read processes events until the stream ends. An invalid line is an error, since counts would be wrong.
func (t *tally) read(events io.Reader) error {
	decoder := json.NewDecoder(events)
	for {
		var one event
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("go test -json: %w", err)
		}
		t.take(one)
	}
}

// take processes one event.
func (t *tally) take(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "start", "run":
		t.buffer(k)
	case "output":
		t.buffer(k).WriteString(e.Output)
	case "build-output":
		t.print("%s", e.Output)
	case "pass", "fail", "skip":
		output := t.buffer(k).String()
		delete(t.running, k)
		if e.Test == "" {
			t.endPackage(e, output)
		} else {
			t.endTest(e, output)
		}
	}
}

func (t *tally) endTest(e event, output string) {
	switch e.Action {
	case "pass":
		t.passed++
	case "fail":
		t.failed++
		t.failures[e.Package]++
		t.print("%s", output)
	case "skip":
		t.skip(e.Package+": "+e.Test, reason(output))
		if t.strict && e.Test != excused {
			t.failures[e.Package]++
		}
	}
}

// endPackage reports a package, and counts failures outside of its tests.
func (t *tally) endPackage(e event, output string) {
	for k, partial := range t.running {
		if k.pkg == e.Package { // It did not end: the process exited.
			t.print("%s%s: %s did not end\n", partial, e.Package, k.test)
			delete(t.running, k)
			t.failed++
			t.failures[e.Package]++
		}
	}
	switch {
	case e.Action == "fail" && t.failures[e.Package] == 0:
		t.failed++
		t.print("%sFAIL %s (outside its tests)\n", output, e.Package)
	case e.Action == "fail":
		t.print("FAIL %s (%.1f s)\n", e.Package, e.Elapsed)
	case e.Action == "pass" && e.Elapsed > 0:
		t.print("ok   %s (%.1f s)\n", e.Package, e.Elapsed)
	}
}

// skip counts and reports a skipped test.
func (t *tally) skip(name, why string) {
	if t.strict && !strings.HasSuffix(name, ": "+excused) {
		t.failed++
		t.print("FAIL %s: skipped, which CI=true does not allow: %s\n", name, why)
		return
	}
	t.skipped++
	t.print("skip %s: %s\n", name, why)
}

// fail counts a failure outside every package.
func (t *tally) fail(what string) {
	t.failed++
	t.print("FAIL %s\n", what)
}

// finish prints the summary and returns the exit code. No test at all is a failure.
func (t *tally) finish() int {
	if t.passed+t.failed == 0 {
		t.fail("no test ran")
	}
	t.print("%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	if t.failed > 0 {
		return 1
	}
	return 0
}

func (t *tally) buffer(k key) *strings.Builder {
	if t.running[k] == nil {
		t.running[k] = &strings.Builder{}
	}
	return t.running[k]
}

func (t *tally) print(format string, args ...any) {
	_, _ = fmt.Fprintf(t.out, format, args...)
}

// logged matches what t.Skip prints: four spaces for each level, file, line, and the reason.
var logged = regexp.MustCompile(`(?m)^ +[A-Za-z0-9_]+\.go:\d+: (.*)$`)

// reason finds the reason of a skip in the output.
func reason(output string) string {
	found := logged.FindAllStringSubmatch(output, -1)
	if len(found) == 0 {
		return "no reason given"
	}
	return found[len(found)-1][1]
}
