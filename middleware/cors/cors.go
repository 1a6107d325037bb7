// Package cors implements the middleware cors, which answers preflight requests and lets pages of other origins read
// responses (the Fetch standard, section 3.2), as the CORS filter of the Gateway API.
package cors

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
)

// CORS headers (Fetch standard, sections 3.2.2 and 3.2.3).
const (
	allowCredentials = "Access-Control-Allow-Credentials"
	allowHeaders     = "Access-Control-Allow-Headers"
	allowMethods     = "Access-Control-Allow-Methods"
	allowOrigin      = "Access-Control-Allow-Origin"
	exposeHeaders    = "Access-Control-Expose-Headers"
	maxAge           = "Access-Control-Max-Age"
	requestHeaders   = "Access-Control-Request-Headers"
	requestMethod    = "Access-Control-Request-Method"
)

// CORS is one configured cors.
type CORS struct {
	origins     origins
	credentials bool
	methods     values
	headers     values
	exposed     string
	maxAge      string
	// refused are the edits of a response to an origin that is not allowed.
	refused []headerlist.Edit
}

// values are those of an option: a list for the header, or what was requested.
type values struct {
	list string
	echo bool
}

// New validates the definition: origins are https://host or http://host, perhaps with a port, whose host may be or
// begin with a wildcard; methods and headers are tokens, or * alone; maxAge is at least 1.
func New(_ string, config dynamic.CORS) (*CORS, error) {
	c := &CORS{credentials: config.AllowCredentials, maxAge: strconv.Itoa(config.MaxAge)}
	if config.MaxAge < 1 {
		return nil, fmt.Errorf("cors.maxAge %d is not at least 1", config.MaxAge)
	}
	var err error
	if c.origins, err = newOrigins(config.AllowOrigins); err != nil {
		return nil, err
	}
	if c.methods, err = c.values("allowMethods", config.AllowMethods); err != nil {
		return nil, err
	}
	if c.headers, err = c.values("allowHeaders", config.AllowHeaders); err != nil {
		return nil, err
	}
	exposed, err := c.values("exposeHeaders", config.ExposeHeaders)
	if err != nil {
		return nil, err
	}
	c.exposed = exposed.list
	for _, name := range []string{allowOrigin, allowCredentials, exposeHeaders} {
		c.refused = append(c.refused, headerlist.Edit{Name: name})
	}
	c.refused = append(c.refused, c.vary()...)
	return c, nil
}

// values checks a list of names. With credentials "*" is a name rather than a wildcard (Fetch standard, section 3.2.5).
func (c *CORS) values(option string, names []string) (values, error) {
	if slices.Contains(names, "*") {
		if len(names) > 1 {
			return values{}, errAlone(option)
		}
		if c.credentials {
			return values{echo: true}, nil
		}
	}
	for _, name := range names {
		if !headerlist.ValidName(name) {
			return values{}, fmt.Errorf("cors.%s: %q is not a name", option, name)
		}
	}
	return values{list: strings.Join(names, ", ")}, nil
}

// Warnings returns a sentence for each origin by which every site may send requests with the visitor's credentials and
// read the responses.
func (c *CORS) Warnings() []string {
	if !c.credentials {
		return nil
	}
	var warnings []string
	for _, all := range c.origins.all() {
		warnings = append(warnings,
			"cors.allowOrigins: with allowCredentials "+all+" lets every site act and read as its visitor")
	}
	return warnings
}

// NoRetain implements httpio.NoRetainer.
func (*CORS) NoRetain() {}

// Wrap returns a handler that answers preflight requests with 204, and calls next for others with a writer that sets
// the CORS headers of the response. Those of the service are replaced, or removed where the origin is not allowed.
func (c *CORS) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions && len(r.Header["Origin"]) > 0 && len(r.Header[requestMethod]) > 0 {
			c.preflight(w, r)
			return
		}
		headerlist.Serve(w, r, next, c.edits(canonical.SoleOrigin(r.Header)))
	})
}

// edits returns those of the response to a request from an origin, which is empty where it has none. With *
// those of all requests are the same, since caches may store them without Vary (Fetch standard, "CORS protocol and HTTP
// caches").
func (c *CORS) edits(origin string) []headerlist.Edit {
	allowed := c.origins.allow(origin, c.credentials)
	if allowed == "" {
		return c.refused
	}
	edits := make([]headerlist.Edit, 0, 4)
	edits = append(edits, headerlist.Edit{Name: allowOrigin, Value: allowed, Kind: headerlist.Set})
	credentials := headerlist.Edit{Name: allowCredentials}
	if c.credentials {
		credentials.Value, credentials.Kind = "true", headerlist.Set
	}
	exposed := headerlist.Edit{Name: exposeHeaders}
	if c.exposed != "" {
		exposed.Value, exposed.Kind = c.exposed, headerlist.Set
	}
	return append(append(edits, credentials, exposed), c.vary()...)
}

// vary returns the edit for caches where responses depend on the origin.
func (c *CORS) vary() []headerlist.Edit {
	if c.origins.any && !c.credentials {
		return nil
	}
	return []headerlist.Edit{{Name: "Vary", Value: "Origin", Kind: headerlist.Add}}
}

// preflight answers a preflight request.
func (c *CORS) preflight(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	set := func(name, value string) {
		if value != "" {
			header[name] = []string{value}
		}
	}
	if origin := c.origins.allow(canonical.SoleOrigin(r.Header), c.credentials); origin != "" {
		set(allowOrigin, origin)
		set(allowMethods, c.methods.of(r.Header[requestMethod]))
		set(allowHeaders, c.headers.of(r.Header[requestHeaders]))
		set(exposeHeaders, c.exposed)
		set(maxAge, c.maxAge)
		if c.credentials {
			set(allowCredentials, "true")
		}
	}
	for _, edit := range c.vary() {
		set(edit.Name, edit.Value)
	}
	w.WriteHeader(http.StatusNoContent)
}

// of returns the value for what a request asks for.
func (v values) of(requested []string) string {
	if !v.echo {
		return v.list
	}
	for _, line := range requested {
		for name := range strings.SplitSeq(line, ",") {
			if !headerlist.ValidName(strings.Trim(name, " \t")) {
				return "" // It is not safe to repeat.
			}
		}
	}
	return strings.Join(requested, ", ")
}
