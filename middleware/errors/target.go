package errors

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
)

// The placeholders of the option query.
const (
	statusPlaceholder   = "{status}"
	originalPlaceholder = "{originalStatus}"
	urlPlaceholder      = "{url}"
)

// target is the path and query of a page, with placeholders.
type target struct{ path, query string }

// parseTarget parses the option query. A fragment is dropped.
func parseTarget(text string) (target, error) {
	for _, found := range regexp.MustCompile(`\{[A-Za-z]*\}`).FindAllString(text, -1) {
		if !slices.Contains([]string{statusPlaceholder, originalPlaceholder, urlPlaceholder}, found) {
			return target{}, fmt.Errorf("%s is no placeholder, which are {status}, {originalStatus} and {url}", found)
		}
	}
	text, _, _ = strings.Cut(text, "#")
	var t target
	t.path, t.query, _ = strings.Cut(text, "?")
	// Placeholders are replaced by the same kinds of characters in every request, so a sample is enough.
	sample := t.fill(http.StatusNotFound, http.StatusNotFound, "http%3A%2F%2Fexample.com%2F")
	if _, err := canonical.Literal(sample.path); err != nil {
		return target{}, err
	}
	if _, err := (canonical.Policy{}).Query(sample.query); err != nil {
		return target{}, err
	}
	return t, nil
}

// fill replaces the placeholders. The URL is escaped.
func (t target) fill(status, original int, url string) target {
	values := strings.NewReplacer(
		statusPlaceholder, strconv.Itoa(status), originalPlaceholder, strconv.Itoa(original), urlPlaceholder, url)
	return target{path: values.Replace(t.path), query: values.Replace(t.query)}
}
