package grpcweb

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// CORS headers (fetch.spec.whatwg.org, section 3.3).
const (
	allowOrigin      = "Access-Control-Allow-Origin"
	allowMethods     = "Access-Control-Allow-Methods"
	allowHeaders     = "Access-Control-Allow-Headers"
	allowCredentials = "Access-Control-Allow-Credentials"
	exposeHeaders    = "Access-Control-Expose-Headers"
	requestMethod    = "Access-Control-Request-Method"
	requestHeaders   = "Access-Control-Request-Headers"
	maxAge           = "Access-Control-Max-Age"
)

// preflightSeconds is how long a browser may cache the answer to a preflight request.
const preflightSeconds = "600"

// origins are the allowed origins.
type origins struct {
	all  bool
	list []string
}

// parseOrigins parses the option allowOrigins.
func parseOrigins(option []string) (origins, error) {
	var o origins
	for _, one := range option {
		if one == "*" {
			o.all = true
			continue
		}
		origin := strings.ToLower(one)
		if u, err := url.Parse(origin); origin != "null" && (err != nil || u.Scheme == "" || u.User != nil ||
			!canonical.ValidAuthority(u.Host) || strings.Contains(u.Host, "*") || origin != u.Scheme+"://"+u.Host) {
			return origins{},
				fmt.Errorf("grpcWeb.allowOrigins: %q is no origin such as https://example.com, and neither null nor *", one)
		}
		o.list = append(o.list, origin)
	}
	return o, nil
}

// of returns the origin of a request if it is allowed, or "".
func (o *origins) of(header http.Header) string {
	values := header["Origin"]
	if len(values) != 1 {
		return ""
	}
	origin := values[0]
	if o.all || slices.ContainsFunc(o.list, func(allowed string) bool { return strings.EqualFold(allowed, origin) }) {
		return origin
	}
	return ""
}

// preflight reports whether an OPTIONS request is the preflight of a gRPC-Web call; all clients send X-Grpc-Web.
func preflight(header http.Header) bool {
	return len(header[requestMethod]) > 0 && slices.ContainsFunc(requestedHeaders(header), func(name string) bool {
		return name == "X-Grpc-Web"
	})
}

// requestedHeaders returns the values of Access-Control-Request-Headers.
func requestedHeaders(header http.Header) []string {
	var names []string
	for _, list := range header[requestHeaders] {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); httpguts.ValidHeaderFieldName(name) {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	return names
}

// preflight answers a preflight request. The browser makes the call only if the answer allows it.
func (g *GRPCWeb) preflight(w http.ResponseWriter, r *http.Request) {
	g.preflights.Add(1)
	header := w.Header()
	header["Vary"] = append(header["Vary"], "Origin", requestMethod, requestHeaders)
	origin := g.origins.of(r.Header)
	switch {
	case origin == "":
		answer.Note(r, g.name, "the origin is not allowed")
	case r.Header.Get(requestMethod) != http.MethodPost:
		answer.Note(r, g.name, "a call is made with POST")
	default:
		header.Set(allowOrigin, origin)
		header.Set(allowCredentials, "true")
		header.Set(allowMethods, http.MethodPost)
		header.Set(allowHeaders, strings.Join(requestedHeaders(r.Header), ", "))
		header.Set(maxAge, preflightSeconds)
	}
	w.WriteHeader(http.StatusOK)
}
