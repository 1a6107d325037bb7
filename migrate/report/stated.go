package report

import (
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

// stated returns why a difference is by design; empty for one that is not.
func stated(one *Difference) string {
	for _, row := range []struct {
		text string
		is   func(*Difference) bool
	}{
		{
			"entrypoints with sanitizePath merge adjacent slashes and resolve dot segments before a request is sent on; " +
				"with http.sanitizePath: false and http.allowParameterSegments: true they do not",
			sanitized,
		},
	} {
		if row.is(one) {
			return row.text
		}
	}
	return ""
}

// sanitized reports whether the endpoint receives the same path in another spelling, for a target that entrypoints
// change.
func sanitized(one *Difference) bool {
	if !slices.Contains([]probe.Reason{probe.DoubleSlash, probe.DotSegment, probe.FinalDot}, one.Probe.Reason) {
		return false
	}
	for _, difference := range one.Fields {
		if difference.Field != answer.Target {
			return false
		}
		want, known := normal(difference.Want)
		if got, too := normal(difference.Got); !known || !too || want != got {
			return false
		}
	}
	return true
}

// normal returns a target with its path in nginx's form, without a final slash.
func normal(target string) (string, bool) {
	path, query, _ := strings.Cut(target, "?")
	normalised, ok := uri.Normalize(path)
	return strings.TrimSuffix(normalised, "/") + "?" + query, ok
}
