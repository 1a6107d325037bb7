package jsonpatch_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	reference "gopkg.in/evanphx/json-patch.v4"

	"github.com/sluiceproxy/sluice/inject/jsonpatch"
)

func decode(t *testing.T, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

func TestDifference(t *testing.T) {
	for _, test := range []struct{ name, from, to, want string }{
		{"equal", `{"a":[1,2.50,null]}`, `{"a":[1,2.50,null]}`, `null`},
		{
			"added, removed and replaced", `{"a":1,"b":2}`, `{"b":3,"c":null}`,
			`[{"op":"remove","path":"/a"},{"op":"replace","path":"/b","value":3},{"op":"add","path":"/c","value":null}]`,
		},
		{
			"escaped keys", `{"a/b":1,"c~d":{"e~/f":1}}`, `{"c~d":{"e~/f":2}}`,
			`[{"op":"remove","path":"/a~1b"},{"op":"replace","path":"/c~0d/e~0~1f","value":2}]`,
		},
		{"other kind", `{"a":{}}`, `{"a":[]}`, `[{"op":"replace","path":"/a","value":[]}]`},
		{"number of another form", `{"a":1}`, `{"a":1.0}`, `[{"op":"replace","path":"/a","value":1.0}]`},
		{"null becomes a map", `{"a":null}`, `{"a":{}}`, `[{"op":"replace","path":"/a","value":{}}]`},
		{
			"inserted at the front", `[{"name":"a"},{"name":"b"}]`, `[{"name":"x"},{"name":"a"},{"name":"b"}]`,
			`[{"op":"add","path":"/0","value":{"name":"x"}}]`,
		},
		{
			"changed in place behind an insertion", `[{"name":"a","v":1}]`, `[{"name":"x"},{"name":"a","v":2}]`,
			`[{"op":"add","path":"/0","value":{"name":"x"}},{"op":"replace","path":"/1/v","value":2}]`,
		},
		{
			"moved", `[{"name":"a"},{"name":"b"},{"name":"c"}]`, `[{"name":"c"},{"name":"a"},{"name":"b"}]`,
			`[{"op":"add","path":"/0","value":{"name":"c"}},{"op":"remove","path":"/3"}]`,
		},
		{"emptied", `["a","b"]`, `[]`, `[{"op":"remove","path":"/0"},{"op":"remove","path":"/0"}]`},
		{
			"keys of other lists", `[{"mountPath":"/a"},{"containerPort":1}]`, `[{"containerPort":1,"x":1}]`,
			`[{"op":"remove","path":"/0"},{"op":"add","path":"/0/x","value":1}]`,
		},
		{"root", `1`, `"1"`, `[{"op":"replace","path":"","value":"1"}]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := json.Marshal(jsonpatch.Difference(decode(t, test.from), decode(t, test.to)))
			if err != nil {
				t.Fatal(err)
			}
			if !equal(t, decode(t, string(got)), decode(t, test.want)) {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

// equal compares as text, in which numbers keep their form.
func equal(t *testing.T, a, b any) bool {
	t.Helper()
	one, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(one, other)
}

// TestLongListsAreReplaced compares two lists without a common element that are too long for a comparison.
func TestLongListsAreReplaced(t *testing.T) {
	list := func(prefix string) (out []any) {
		for i := range 1000 {
			out = append(out, fmt.Sprint(prefix, i))
		}
		return out
	}
	got := jsonpatch.Difference(list("a"), list("b"))
	if len(got) != 1 || got[0].Op != "replace" || got[0].Path != "" {
		t.Errorf("got %d operations, the first one is %v", len(got), got[0])
	}
}

// FuzzDifference applies the patch between any two values with an independent implementation.
func FuzzDifference(f *testing.F) {
	f.Add(`{"a":[{"name":"a"},{"name":"b"},1,null]}`, `{"a":[{"name":"b","x":[]},2,{"name":"a"}],"/~":{}}`)
	f.Add(`{"a":{"b":[1,2,3,4]}}`, `{"a":{"b":[4,3,2,1]}}`)
	f.Fuzz(func(t *testing.T, from, to string) {
		var a, b map[string]any
		if !object(from, &a) || !object(to, &b) {
			return
		}
		operations := jsonpatch.Difference(a, b)
		if len(operations) == 0 {
			if !equal(t, a, b) {
				t.Fatal("no patch for different values")
			}
			return
		}
		encoded, err := json.Marshal(operations)
		if err != nil {
			t.Fatal(err)
		}
		patch, err := reference.DecodePatch(encoded)
		if err != nil {
			t.Fatal(err)
		}
		before, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		after, err := patch.Apply(before)
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if !equal(t, decode(t, string(after)), b) {
			t.Fatalf("%s makes %s of %s, want %s", encoded, after, before, to)
		}
	})
}

func object(text string, into *map[string]any) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into) == nil && *into != nil
}
