package webhook

import "strings"

const (
	// maxWarnings is the number of warnings in an answer.
	maxWarnings = 10
	// maxWarning is the size of a warning in bytes, which clients print on one line. The API server cuts all warnings of a
	// request at 4 KiB.
	maxWarning = 120
)

// bounded returns warnings as clients can print them: short lines of printable ASCII.
func bounded(warnings []string) []string {
	var short []string
	for _, warning := range warnings {
		if len(short) == maxWarnings {
			short[maxWarnings-1] = "there are further warnings, which are not shown"
			break
		}
		short = append(short, printable(warning, maxWarning))
	}
	return short
}

// printable returns text with at most the given bytes, of which others than printable ASCII are replaced.
func printable(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	const cut = "..."
	if len(text) > most {
		text = text[:most-len(cut)] + cut
	}
	return text
}
