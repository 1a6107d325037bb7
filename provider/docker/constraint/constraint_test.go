package constraint

import (
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	labels := map[string]string{"tier": "web", "stage": "test-7", "empty": ""}
	tests := []struct {
		expression string
		want       bool
	}{
		{"", true},
		{" \n", true},
		{"Label(`tier`,`web`)", true},
		{`Label("tier", "web")`, true},
		{"Label(`tier`,`we`)", false},
		{"Label(`absent`,``)", true},
		{"Label(`empty`,``)", true},
		{"LabelRegex(`stage`,`^test-[0-9]$`)", true},
		{"LabelRegex(`stage`,`e`)", true},
		{"LabelRegex(`absent`,`.*`)", true},
		{"LabelRegex(`absent`,`^(prod)?$`)", true},
		{"LabelRegex(`absent`,`.`)", false},
		{"!Label(`tier`,`web`)", false},
		{"!!Label(`tier`,`web`)", true},
		{"!Label(`absent`,`x`) && Label(`tier`,`web`)", true},
		{"Label(`tier`,`web`) || Label(`a`,`b`) && Label(`c`,`d`)", true},
		{"(Label(`tier`,`web`) || Label(`a`,`b`)) && Label(`c`,`d`)", false},
		{"Label(`c`,`d`) && Label(`a`,`b`) || Label(`tier`,`web`)", true},
		{"!(Label(`a`,`b`)||Label(`tier`,`db`))", true},
		{"Label(`a`,`b`)\n||\tLabel(`tier`,`web`)", true},
	}
	for _, test := range tests {
		expression, err := Parse(test.expression)
		if err != nil {
			t.Errorf("Parse(%q): %v", test.expression, err)
			continue
		}
		if got := expression.Match(labels); got != test.want {
			t.Errorf("%q matches: %v, want %v", test.expression, got, test.want)
		}
	}
}

func TestMentions(t *testing.T) {
	expression, err := Parse("!Label(`a.b`,`x`) || LabelRegex(`c`,`y`)")
	if err != nil {
		t.Fatal(err)
	}
	if !expression.Mentions("a.b") || !expression.Mentions("c") || expression.Mentions("x") {
		t.Error("the labels that the expression tests are not a.b and c")
	}
}

func TestErrors(t *testing.T) {
	tests := map[string]string{
		"Labell(`a`,`b`)":                 `at byte 1: Labell: unknown option, did you mean "Label"?`,
		"Tag(`a`)":                        `at byte 1: Tag: unknown option`,
		"Label(`a`)":                      "at byte 10: expected ,, got )",
		"Label(`a`,`b`":                   "at byte 14: expected ), got the end",
		"Label(`a`,`b`))":                 "at byte 15: expected && or ||, got )",
		"Label(`a`,`b`) Label(`c`,`d`)":   "at byte 16: expected && or ||, got Label",
		"Label(`a`,`b`) &&":               "at byte 18: expected Label, LabelRegex, ! or (, got the end",
		"Label(`a`,`b`) & Label(`c`,`d`)": "at byte 16: unexpected '&'",
		"Label(a,b)":                      "at byte 7: expected a string in backquotes, got a",
		"Label(`a`,`b":                    "at byte 11: a string has no end or a wrong escape",
		"LabelRegex(`a`,`(`)":             "at byte 16: error parsing regexp: missing closing ): `(`",
		"()":                              "at byte 2: expected Label, LabelRegex, ! or (, got )",
		strings.Repeat("!", 101) +
			"Label(`a`": "at byte 101: more than 100 parentheses and negations stand within one another",
	}
	for text, want := range tests {
		if _, err := Parse(text); err == nil || err.Error() != want {
			t.Errorf("Parse(%q) = %v, want %s", text, err, want)
		}
	}
}

// FuzzParse asserts that no text makes the parser panic or hang, and that what it accepts says the opposite when
// negated.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "Label(`a`,`b`)", "!(LabelRegex(`a`,`^b`) || Label(\"a\",\"\\x41\")) && Label(`c`,`d`)", "((((", "Label(`", "&&",
		"\xff",
	} {
		f.Add(seed, "a", "b")
	}
	f.Fuzz(func(t *testing.T, text, key, value string) {
		expression, err := Parse(text)
		labels := map[string]string{key: value}
		if err != nil {
			if !strings.HasPrefix(err.Error(), "at byte ") {
				t.Fatalf("Parse(%q): %v", text, err)
			}
			return
		}
		negated, err := Parse("!(" + text + ")")
		if strings.TrimSpace(text) == "" || err != nil && strings.Contains(err.Error(), "more than") {
			return
		}
		if err != nil || negated.Match(labels) == expression.Match(labels) {
			t.Fatalf("%q and its negation both say %v (%v)", text, expression.Match(labels), err)
		}
	})
}
