package document

import "strings"

// plainReason returns the reason of a syntax error of YAML in terms of what is to be written. line is the line of the
// error; no part of it is repeated, since it may hold a secret.
func plainReason(reason, line string) string {
	content := strings.TrimLeft(line, " \t")
	if strings.Contains(line[:len(line)-len(content)], "\t") {
		return "the indentation contains a tab, which YAML does not allow; use spaces"
	}
	value := valueOf(content)
	switch {
	case pastQuote(value):
		return "text follows the closing quote; put the whole value in quotes"
	case strings.HasPrefix(reason, "found character that cannot start") && strings.Contains(line, "`"):
		return "a value that begins with a backtick needs quotes around it, as in rule: \"Host(`example.com`)\""
	case strings.HasPrefix(reason, "found character that cannot start"):
		return "a value that begins with @ or % needs quotes around it"
	case strings.HasPrefix(reason, "mapping values are not allowed"):
		return "unexpected \": \"; a value that contains \": \" needs quotes, and the keys of a map equal indentation"
	case reason == "did not find expected key":
		return "the indentation does not fit the lines above"
	case strings.HasPrefix(reason, "did not find expected '-'"):
		return "the indentation does not fit the list above"
	case strings.HasPrefix(reason, "could not find expected ':'"):
		return "a key has no colon, or a value of several lines is not indented"
	case strings.HasPrefix(reason, "found unexpected end of stream"):
		return "a quote is opened and never closed"
	case strings.HasPrefix(reason, "did not find expected ',' or"):
		return "a bracket is opened and never closed, or a comma is missing"
	case strings.HasPrefix(reason, "found unknown escape character"):
		return "unknown escape in double quotes; single quotes keep backslashes as they are"
	}
	return reason
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
