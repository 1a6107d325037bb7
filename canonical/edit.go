package canonical

import (
	"net/http"
	"strings"
)

// EscapedPath returns the escaped path of a normalised request. It is not ok for "OPTIONS *", which is about the
// whole server: there is no path to edit then.
func EscapedPath(r *http.Request) (escaped string, ok bool) {
	escaped = r.URL.EscapedPath()
	return escaped, escaped != "*"
}

// RoutingPath returns the routing path of r including changes by middlewares.
//
// URL.Path alone is not enough: net/url leaves RawPath empty for "/%21" too, whose Path is "/!".
func RoutingPath(r *http.Request) string {
	return route(r.URL.EscapedPath())
}

// Paths returns the escaped path, "*" for "OPTIONS *", and the routing path of r including changes by middlewares.
func Paths(r *http.Request) (escaped, routing string) {
	escaped = r.URL.EscapedPath()
	return escaped, route(escaped)
}

// CutRouting cuts an escaped path after the characters of the first n bytes of its routing path. It is not ok when
// those bytes end inside a percent-encoding, or when the routing path is shorter.
func CutRouting(escaped string, n int) (prefix, rest string, ok bool) {
	at := 0
	for n > 0 && at < len(escaped) {
		width, routing := 1, 1
		if escaped[at] == '%' {
			if decoded, valid := decodeAt(escaped, at); valid {
				width = 3
				if isReserved(decoded) {
					routing = 3
				}
			}
		}
		at, n = at+width, n-routing
	}
	if n != 0 {
		return "", "", false
	}
	return escaped[:at], escaped[at:], true
}

// SetPath replaces the path of r by an escaped path, in place: URL.Path, URL.RawPath and RequestURI agree afterwards,
// and the query stays. A missing leading slash is added, and percent-encodings are normalised as [Policy.Apply] does.
// All changes of paths use it.
//
// An edit cannot bypass the route's rule: a result with a dot segment, or with an empty segment or one of parameters
// alone that was not there before, is refused with an [*Error] and r stays as it was. Cleaning it instead would let
// "/api../admin" become "/admin" behind a rule that guards "/api/admin".
func SetPath(r *http.Request, escaped string) error {
	before, ok := EscapedPath(r)
	if !ok {
		return refuse("the whole server has no path to change")
	}
	if !strings.HasPrefix(escaped, "/") {
		escaped = "/" + escaped
	}
	if !isPlain(escaped) {
		normal, err := normalize(escaped, AllowAllEncoded())
		if err != nil {
			return err
		}
		if err := checkEdit(before, normal); err != nil {
			return err
		}
		escaped = normal
	}
	setPath(r.URL, escaped)
	r.RequestURI = requestURI(r, escaped)
	return nil
}

// PrependPath puts an escaped prefix before the path of r, as [SetPath] with both together.
func PrependPath(r *http.Request, prefix string) error {
	path, ok := EscapedPath(r)
	if !ok {
		return refuse("the whole server has no path to change")
	}
	before := r.RequestURI
	target := prefix + path
	if query := r.URL.RawQuery; query != "" || r.URL.ForceQuery {
		target = prefix + path + "?" + query
	}
	r.RequestURI = target
	err := SetPath(r, target[:len(prefix)+len(path)])
	if err != nil {
		r.RequestURI = before
	}
	return err
}

func checkEdit(before, after string) error {
	if hasDotSegment(after) {
		return refuse("the changed path has a dot segment")
	}
	if strings.HasPrefix(after, "//") || strings.Contains(after, "//") && !strings.Contains(before, "//") {
		return refuse("the changed path has an empty segment")
	}
	if strings.Contains(after, "/;") && !strings.Contains(before, "/;") {
		return refuse("the changed path has a segment of parameters alone")
	}
	return nil
}

// Literal returns a configured path as an escaped path that begins with "/", to compare with others and for [SetPath].
// A percent sign that begins no valid encoding must be encoded ("%25" for a percent sign); every other character that a
// path can't hold raw is encoded, "?" and "#" too. A path with empty segments, dot segments or segments of parameters
// alone is an error.
func Literal(text string) (string, error) {
	escaped, err := escapeLiteral(text)
	if err != nil {
		return "", err
	}
	if inspect(escaped) != tidy {
		return "", refuse("the path has an empty or dot segment, or one of parameters alone")
	}
	return escaped, nil
}

// RoutingLiteral returns the routing path of a configured path, to compare with [RoutingPath] and [Target.Routing]: all
// percent-encodings but those of reserved characters are decoded. It reads text as [Literal] does, and takes all
// segments.
func RoutingLiteral(text string) (string, error) {
	escaped, err := escapeLiteral(text)
	return route(escaped), err
}

// escapeLiteral returns a configured path as an escaped path.
func escapeLiteral(text string) (string, error) {
	raw := make([]byte, 0, len(text)+8)
	if !strings.HasPrefix(text, "/") {
		raw = append(raw, '/')
	}
	for i := range len(text) {
		if c := text[i]; c == '%' || isPath(c) {
			raw = append(raw, c)
		} else {
			raw = appendEncoded(raw, c)
		}
	}
	return normalize(string(raw), AllowAllEncoded())
}
