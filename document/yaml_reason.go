package document

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// inQuotes says how a value is written that begins with an exclamation mark.
const inQuotes = "needs quotes around it, as in rule: '!Host(`example.com`)'"

// plainReason returns the reason of a syntax error of YAML in terms of what is to be written. line is the line of the
// error; no part of it is repeated, since it may hold a secret.
func plainReason(reason, line string) string {
	content := strings.TrimLeft(line, " \t")
	if strings.Contains(line[:len(line)-len(content)], "\t") {
		return "the indentation contains a tab, which YAML does not allow; use spaces"
	}
	value := valueOf(content)
	if pastQuote(value) {
		return "text follows the closing quote; put the whole value in quotes"
	}
	for _, known := range yamlReasons() {
		if strings.HasPrefix(reason, known.prefix) && (known.applies == nil || known.applies(value)) {
			return known.plain
		}
	}
	return reason
}

// yamlReason is what is to be written where the library's reason has a prefix and the value on the line applies.
type yamlReason struct {
	prefix  string
	applies func(value string) bool
	plain   string
}

// yamlReasons returns the reasons; the first one that applies counts.
func yamlReasons() []yamlReason {
	const (
		bracket = "a bracket is opened and never closed, or a comma is missing"
		tag     = "a value that begins with ! " + inQuotes
		tab     = "the indentation contains a tab, which YAML does not allow; use spaces"
	)
	return []yamlReason{
		{
			"found character that cannot start", begins("`"),
			"a value that begins with a backtick needs quotes around it, as in rule: \"Host(`example.com`)\"",
		},
		{"found character that cannot start", beforeTab, tab},
		{"found character that cannot start", nil, "a value that begins with @ or % needs quotes around it"},
		{
			"mapping values are not allowed", withColon,
			"unexpected \": \"; a value that contains \": \" needs quotes around it, as in rule: 'Header(`Name`, `a: b`)'",
		},
		{"mapping values are not allowed", nil, "unexpected \": \"; the line above has no key that ends with a colon " +
			"and a space, or has a value already; the keys of a map have equal indentation"},
		{"did not find expected whitespace or line break", begins("!"), tag},
		{"did not find expected tag URI", begins("!"), tag},
		{"did not find URI escaped octet", begins("!"), tag},
		{"did not find expected '!'", begins("!"), tag},
		{"did not find the expected '>'", begins("!"), tag},
		{"found undefined tag handle", begins("!"), tag},
		{
			"did not find expected alphabetic or numeric character", nil,
			"a value that begins with * or & needs quotes around it",
		},
		{
			"did not find expected comment or line break", nil,
			"a value that begins with | or > needs quotes around it; text of several lines begins on the next line",
		},
		{
			"block sequence entries are not allowed", nil,
			"a list begins on the line after its key; a value that begins with \"- \" needs quotes around it",
		},
		{"mapping keys are not allowed", nil, "a value that begins with \"? \" needs quotes around it"},
		{"did not find expected node content", nil, "a value is missing, or begins with a comma or a closing bracket; " +
			"such a text needs quotes around it"},
		{"did not find expected key", nil, "the indentation does not fit the lines above"},
		{"did not find expected '-'", nil, "the indentation does not fit the list above"},
		{"could not find expected ':'", nil, "a key has no colon, or a value of several lines is not indented"},
		{"found unexpected end of stream", nil, "a quote is opened and never closed"},
		{"did not find expected ',' or", nil, bracket},
		{
			"found unknown escape character", nil,
			"unknown escape in double quotes; single quotes keep backslashes as they are",
		},
		{"found a tab character", nil, tab},
		{"control characters are not allowed", nil, "holds a control character; is it a text file?"},
	}
}

// exclamationMarks finds values such as ! Host(`a.test`). The mark alone is a tag without a meaning, which the library
// drops; a rule would become its opposite.
type exclamationMarks struct{ lines [][]byte }

func marksOf(data []byte) exclamationMarks {
	if !bytes.Contains(data, []byte("! ")) {
		return exclamationMarks{}
	}
	return exclamationMarks{bytes.Split(data, []byte("\n"))}
}

// before reports whether a value without quotes begins with an exclamation mark and a space.
func (e exclamationMarks) before(n *yaml.Node) bool {
	if n.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 || n.Line < 1 || n.Line > len(e.lines) {
		return false
	}
	line := []rune(string(e.lines[n.Line-1]))
	return n.Column > 0 && n.Column < len(line) && string(line[n.Column-1:n.Column+1]) == "! "
}

// begins returns whether a value begins with a text.
func begins(with string) func(string) bool {
	return func(value string) bool { return strings.HasPrefix(value, with) }
}

// beforeTab reports whether a tab follows the dash of a list.
func beforeTab(value string) bool { return strings.HasPrefix(value, "-\t") }

// withColon reports whether a value contains what separates a key from its value.
func withColon(value string) bool {
	return strings.Contains(value, ": ") || strings.HasSuffix(strings.TrimSpace(value), ":")
}

// valueOf returns what follows the key or the dash of a line.
func valueOf(content string) string {
	if _, value, found := strings.Cut(content, ": "); found {
		return strings.TrimLeft(value, " ")
	}
	return strings.TrimLeft(strings.TrimPrefix(content, "- "), " ")
}

// pastQuote reports whether something other than a comment follows the quoted text with which a value begins.
func pastQuote(value string) bool {
	if value == "" || !strings.ContainsRune(`"'`, rune(value[0])) {
		return false
	}
	_, after, closed := strings.Cut(value[1:], value[:1])
	after = strings.TrimSpace(after)
	return closed && after != "" && !strings.HasPrefix(after, "#")
}
