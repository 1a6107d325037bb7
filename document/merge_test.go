package document_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/document"
)

type logging struct {
	Level string `json:"level" enum:"INFO,ERROR"`
	Size  int    `json:"size" range:"1..9"`
	Keep  int    `json:"keep" range:"0.."`
}

type limits struct {
	Wait  ptypes.Duration     `json:"wait" range:"0.."`
	Ratio float64             `json:"ratio"`
	Modes []string            `json:"modes" enum:"one,two"`
	Log   *logging            `json:"log"`
	Logs  map[string]*logging `json:"logs"`
	List  []logging           `json:"list"`
}

func parse(t *testing.T, text string) *document.Node {
	t.Helper()
	node, err := document.Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func TestRangesAndChoices(t *testing.T) {
	var got limits
	text := "wait: 0\nratio: 0.5\nmodes: [ONE, '']\nlog: {level: error, size: 9, keep: 0}"
	problems := document.Decode(parse(t, text), &got)
	want := limits{Ratio: 0.5, Modes: []string{"one", ""}, Log: &logging{Level: "ERROR", Size: 9}}
	if diff := cmp.Diff(want, got); diff != "" || problems != nil {
		t.Errorf("problems %v, differs (-want +got):\n%s", problems, diff)
	}
	for text, want := range map[string]string{
		"wait: -1s":          `wait: expected a duration such as "10s" or whole seconds, not negative, got "-1s"`,
		"wait: -1":           `wait: expected a duration such as "10s" or whole seconds, not negative, got "-1"`,
		"ratio: .nan":        `ratio: expected a number, got ".nan"`,
		"ratio: .inf":        `ratio: expected a number, got ".inf"`,
		"modes: [one, tow]":  `modes[1]: expected one of one, two, got "tow"`,
		"log: {level: loud}": `log.level: expected one of INFO, ERROR, got "loud"`,
		"log: {level: []}":   `log.level: expected one of INFO, ERROR, got a list`,
		"log: {size: 0}":     `log.size: expected an integer from 1 to 9, got "0"`,
		"log: {size: 10}":    `log.size: expected an integer from 1 to 9, got "10"`,
		"log: {keep: -1}":    `log.keep: expected an integer of at least 0, got "-1"`,
	} {
		problems := document.Decode(parse(t, text), new(limits))
		if len(problems) != 1 || problems[0].String() != want {
			t.Errorf("%s: problems %v, want %s", text, problems, want)
		}
	}
}

// TestSections proves what switches a section, with the option Sections and without.
func TestSections(t *testing.T) {
	for text, want := range map[string]limits{
		"log:":          {Log: &logging{}},
		"log: true":     {Log: &logging{}},
		"log: false":    {},
		"logs: {a: }":   {Logs: map[string]*logging{"a": {}}},
		"log: {size: }": {Log: &logging{}},
	} {
		var got limits
		decoder := document.Decoder{Sections: true}
		problems := decoder.Decode(parse(t, text), &got)
		if diff := cmp.Diff(want, got); diff != "" || problems != nil {
			t.Errorf("%s: problems %v, differs (-want +got):\n%s", text, problems, diff)
		}
	}
	var got limits
	if problems := document.Decode(parse(t, "log: true\nlogs: {a: }"), &got); len(problems) != 2 || got.Logs["a"] != nil {
		t.Errorf("without Sections: problems %v, %v", problems, got.Logs)
	}
}

func TestUnknownKeysHaveTheReasonOfTheDecoder(t *testing.T) {
	decoder := document.Decoder{Unknown: func(path, key string, known []string) string {
		return path + "/" + key + known[0]
	}}
	problems := decoder.Decode(parse(t, "log: {sise: 1}"), new(limits))
	if want := []document.Problem{{Line: 1, Path: "log.sise", Reason: "log/siselevel"}}; cmp.Diff(want, problems) != "" {
		t.Errorf("problems %v, want %v", problems, want)
	}
}

// TestSources proves that values of several sources make one document, whose problems name their sources, and that the
// document that they were added to stays as it was.
func TestSources(t *testing.T) {
	flag := func(value string) *document.Node {
		return &document.Node{Kind: document.Scalar, Value: value, Source: "flag"}
	}
	file := parse(t, "wait: 5s\nLog: {level: INFO}\nlist: [{size: 1}]\nratio: x")
	before := string(file.AppendIdentity(nil))
	merged := file.With("WAIT", flag("7")).
		With("log", file.Get("log").Value.With("size", flag("many"))).
		With("list", file.Get("list").Value.WithItem(2, (*document.Node)(nil).With("keep", flag("3")))).
		With("modes", flag("one, two"))
	var got limits
	problems := document.Decode(merged, &got)
	want := limits{
		Wait: ptypes.Duration(7 * time.Second), Modes: []string{"one", "two"}, Log: &logging{Level: "INFO"},
		List: []logging{{Size: 1}, {Keep: 3}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	wantProblems := []document.Problem{
		{Source: "flag", Path: "log.size", Reason: `expected an integer from 1 to 9, got "many"`},
		{Source: "flag", Path: "list[1]", Reason: "has no value"},
		{Line: 4, Path: "ratio", Reason: `expected a number, got "x"`},
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
	if string(file.AppendIdentity(nil)) != before {
		t.Error("the document has changed")
	}
	if line := merged.Get("wait").Line; line != 0 {
		t.Errorf("a value that another source has replaced has the line %d", line)
	}
}
