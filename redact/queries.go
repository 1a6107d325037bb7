package redact

import "strings"

// Queries returns a text, such as an error, in which the queries of URLs are replaced.
func Queries(text string) string {
	words := strings.SplitAfter(text, " ")
	for i, word := range words {
		at := strings.Index(word, "://")
		if at < 0 {
			continue
		}
		query := strings.IndexByte(word[at:], '?')
		if query < 0 {
			continue
		}
		rest := ""
		if end := strings.IndexAny(word[at+query:], "\"' "); end >= 0 {
			rest = word[at+query+end:]
		}
		words[i] = word[:at+query] + "?" + Hidden + rest
	}
	return strings.Join(words, "")
}
