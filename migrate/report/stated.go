package report

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/nginx/uri"
)

// design is a kind of difference by design.
type design struct {
	text string
	is   func(*Difference) bool
}

// designs are the differences by design, which docs/migrate/ingress-nginx.md describes.
func designs() []design {
	return []design{
		{
			"requests that nginx refuses as malformed by 400 are refused with another status",
			func(one *Difference) bool { return one.Step() == answer.Parse && refused(&one.Got) },
		},
		{
			"a path that leads above / is resolved to a path below it, where nginx answers 400: the request is answered as one " +
				"for that path",
			func(one *Difference) bool {
				return one.Step() == answer.Parse && about(one, probe.DotSegment, probe.FinalDot) && one.Resolved
			},
		},
		{
			"entrypoints refuse parameters of path segments (;a=b) by 400; with http.allowParameterSegments: true they do not",
			func(one *Difference) bool {
				return about(one, probe.MatrixSuffix) && one.Got.Status == http.StatusBadRequest && one.Got.Upstream == nil
			},
		},
		{
			"entrypoints with sanitizePath resolve dot segments, merge adjacent slashes and decode letters before a request is " +
				"sent on; with http.sanitizePath: false they do not",
			sanitized,
		},
		{
			"with sanitizePath, a final dot segment leaves no final slash: /a/. becomes /a, in nginx /a/",
			func(one *Difference) bool { return about(one, probe.FinalDot) && reachesNoOther(one) },
		},
		{
			"where entrypoints take forwarded headers, X-Forwarded-Port is the port in Host, where there is one; in nginx it is " +
				"that of the listener",
			func(one *Difference) bool {
				return about(one, probe.HostPort) && len(one.Fields) == 1 &&
					one.Fields[0].Field == answer.UpstreamHeader+"X-Forwarded-Port"
			},
		},
	}
}

// Designs returns the texts of the differences by design.
func Designs() []string {
	var texts []string
	for _, row := range designs() {
		texts = append(texts, row.text)
	}
	return texts
}

// stated returns why a difference is by design; empty for one that is not. That of a closed location never is.
func stated(one *Difference) string {
	if one.Why != "" {
		return ""
	}
	for _, row := range designs() {
		if row.is(one) {
			return row.text
		}
	}
	return ""
}

// refused reports whether an answer refuses the request as a mistake of the client.
func refused(got *answer.Answer) bool {
	return got.Upstream == nil && got.Status >= 400 && got.Status < 500
}

// reachesNoOther reports whether the request reaches the same endpoint as in ingress-nginx, or none.
func reachesNoOther(one *Difference) bool {
	if one.Got.Upstream == nil || one.Want.Upstream == nil {
		return one.Got.Upstream == nil
	}
	return !slices.ContainsFunc(one.Fields, func(field answer.Difference) bool { return field.Field == answer.Service })
}

func about(one *Difference, reasons ...probe.Reason) bool {
	return slices.Contains(reasons, one.Probe.Reason)
}

// sanitized reports whether the endpoint, or the client in Location, receives the same path in another spelling, for a
// target that entrypoints change.
func sanitized(one *Difference) bool {
	if !about(one, probe.DoubleSlash, probe.DotSegment, probe.FinalDot, probe.EncodedLetter) {
		return false
	}
	for _, difference := range one.Fields {
		if difference.Field != answer.Target && difference.Field != answer.Location ||
			normal(difference.Want) != normal(difference.Got) {
			return false
		}
	}
	return true
}

// normal returns a target or a URL without encodings, and with its last path, also one in a parameter, in nginx's form
// without a final slash.
func normal(text string) string {
	for range 2 { // A URL may be the parameter of another one.
		if decoded, err := url.PathUnescape(text); err == nil {
			text = decoded
		}
	}
	begin := ""
	if at := strings.LastIndex(text, "://"); at >= 0 {
		begin, text = text[:at], text[at:]
		host, path, _ := strings.Cut(text[len("://"):], "/")
		begin, text = begin+"://"+host, "/"+path
	}
	path, query, _ := strings.Cut(text, "?")
	normalised, ok := uri.Normalize(uri.Escape(path))
	if !ok {
		normalised = path
	}
	return begin + strings.TrimSuffix(normalised, "/") + "?" + query
}
