package document

import "strings"

// plainTOMLReason returns the reason of a syntax error of TOML in terms of what is to be written.
func plainTOMLReason(reason string) string {
	for _, known := range tomlReasons() {
		if strings.HasPrefix(reason, known.prefix) {
			return known.plain
		}
	}
	return reason
}

// tomlReason is what is to be written where the library's reason has a prefix.
type tomlReason struct{ prefix, plain string }

func tomlReasons() []tomlReason {
	const (
		openQuote = "a quote is opened and not closed on the same line"
		openText  = "a text in three quotes is not closed before the end of the file"
		open      = "a bracket is opened and never closed, or a comma is missing"
		unquoted  = "a value is missing or is not valid; a text needs quotes around it, as in rule = 'Host(`example.com`)'"
		escape    = "unknown escape in double quotes; single quotes keep backslashes as they are"
		header    = "a name of a table is not closed, or needs quotes around it, as in [http.routers.\"a b\"]"
	)
	return []tomlReason{
		{"basic strings cannot have new lines", openQuote},
		{"literal strings cannot have new lines", openQuote},
		{"unterminated ", openQuote},
		{"multiline basic string not terminated", openText},
		{"multiline literal string not terminated", openText},
		{"array is incomplete", open},
		{"inline table is incomplete", open},
		{"expected ',' or ", open},
		{"unexpected character at start of value", unquoted},
		{"expected value", unquoted},
		{"expected keyword", unquoted},
		{"strings must be quoted", unquoted},
		{"invalid escape character", escape},
		{"need a character after", escape},
		{"expected ']' to close", header},
		{"expected ']]' to close", header},
		{"expected newline", "text follows the value; a text needs quotes around all of it, and each key a line of its own"},
		{"expected '=' after key", "a key is not followed by =; a key of other characters than letters, digits, - and _ " +
			"needs quotes around it"},
		{
			"invalid character at start of key",
			"a key is missing, or begins with a character that needs quotes around the key",
		},
		{"integers cannot have leading zeroes", "a number begins with 0; a text needs quotes around it"},
		{"expected digit", "a number is not valid; a text needs quotes around it"},
	}
}
