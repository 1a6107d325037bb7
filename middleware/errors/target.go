package errorpages

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

// target is where pages are found: a path and a query with placeholders.
type target struct{ path, query string }

// parseTarget reads the option query. A fragment is left out, as it is from every request.
func parseTarget(text string) (target, error) {
	for _, found := range regexp.MustCompile(`\{[A-Za-z]*\}`).FindAllString(text, -1) {
		if !slices.Contains([]string{statusPlaceholder, originalPlaceholder, urlPlaceholder}, found) {
			return target{}, fmt.Errorf("%s is no placeholder, which are {status}, {originalStatus} and {url}", found)
		}
	}
	text, _, _ = strings.Cut(text, "#")
	var t target
	t.path, t.query, _ = strings.Cut(text, "?")
	// What stands for a placeholder is made of the same kinds of characters whatever the request.
	sample := t.fill(http.StatusNotFound, http.StatusNotFound, "http%3A%2F%2Fexample.com%2F")
	if _, err := canonical.Literal(sample.path); err != nil {
		return target{}, err
	}
	if _, err := (canonical.Policy{}).Query(sample.query); err != nil {
		return target{}, err
	}
	return t, nil
}

// fill puts values in place of the placeholders. The URL is escaped.
func (t target) fill(status, original int, url string) target {
	values := strings.NewReplacer(
		statusPlaceholder, strconv.Itoa(status), originalPlaceholder, strconv.Itoa(original), urlPlaceholder, url)
	return target{path: values.Replace(t.path), query: values.Replace(t.query)}
}
