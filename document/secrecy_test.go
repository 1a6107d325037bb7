package document_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/document"
)

// TestErrorsShowNoValue proves that errors about unreadable documents name lines and kinds of mistakes, and no value.
func TestErrorsShowNoValue(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{
			"alias.yaml", "a: 1\nsigningSecret: *hunter2\n",
			"alias.yaml:2: uses an alias that is not defined; a text that begins with * needs quotes around it",
		},
		{"self.yaml", "a: &hunter2 [*hunter2]\n", "self.yaml:1: has an alias that stands for a value that contains it"},
		{
			"tag.yaml", "a: 1\nb: !hunter2 x\n", "tag.yaml:2: has an unknown tag; a text that begins with ! needs quotes " +
				"around it, as in rule: '!Host(`example.com`)'",
		},
		{"twice.yaml", "user:hunter2: 1\nuser:hunter2: 2\n", `twice.yaml:2: key "user..." is given twice, first on line 1`},
		{
			"twice.toml", "'user:hunter2' = 1\n'user:hunter2' = 2\n",
			`twice.toml:2: key "user..." is given twice, first on line 1`,
		},
		{"bare.toml", "a = 1\nb = hunter2\n", "bare.toml:2: a value is missing or is not valid; a text needs quotes " +
			"around it, as in rule = 'Host(`example.com`)'"},
		{"rest.toml", "a = 1 hunter2\n", "rest.toml:1: text follows the value; a text needs quotes " +
			"around all of it, and each key a line of its own"},
		{
			"table.toml", "'user:hunter2' = 1\n['user:hunter2'.a]\n",
			`table.toml:2: "user..." is not a table, line 1 says otherwise`,
		},
	}
	for _, test := range tests {
		_, err := document.Parse(test.name, []byte(test.text))
		if err == nil || err.Error() != test.want || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v, want %s", test.name, err, test.want)
		}
	}
}
