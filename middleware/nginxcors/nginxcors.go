// Package nginxcors implements the middleware nginxCORS, which answers preflight requests and lets pages of other
// origins read responses as ingress-nginx does. The differences to package cors, which follows the Fetch standard, are
// what clients of ingress-nginx may rely on: every OPTIONS of an allowed origin is answered, all headers are in every
// response, "*" stands beside credentials, and responses to other origins are left as they are.
package nginxcors

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
)

const allowOrigin = "Access-Control-Allow-Origin"

// NginxCORS is one configured nginxCORS.
type NginxCORS struct {
	// any allows all origins, which origins does not list then.
	any     bool
	origins []origin
	// edits are those of a response to an allowed origin, that of the origin first. They are shared, and not changed.
	edits []headerlist.Edit
}

// New validates the definition: at least one origin, each as scheme://host with an optional port, whose host may begin
// with "*.", null, or *; values of headers without control characters; and a maxAge that is not negative.
func New(_ string, config dynamic.NginxCORS) (*NginxCORS, error) {
	c := &NginxCORS{edits: []headerlist.Edit{{Name: allowOrigin, Value: "*", Kind: headerlist.Set}}}
	if len(config.AllowOrigins) == 0 {
		return nil, errors.New("nginxCORS.allowOrigins is empty: no origin would be allowed")
	}
	for _, text := range config.AllowOrigins {
		if text = strings.TrimSpace(text); text == "*" {
			c.any = true
			continue
		}
		one, ok := parseOrigin(text)
		if !ok {
			return nil, fmt.Errorf("nginxCORS.allowOrigins: %q is neither an origin such as https://example.com:8443 or "+
				"https://*.example.com, nor null or *", text)
		}
		c.origins = append(c.origins, one)
	}
	if config.MaxAge < 0 {
		return nil, fmt.Errorf("nginxCORS.maxAge %d is negative", config.MaxAge)
	}
	credentials := ""
	if config.AllowCredentials == nil || *config.AllowCredentials {
		credentials = "true"
	}
	for _, header := range []struct{ name, option, value string }{
		{"Access-Control-Allow-Credentials", "allowCredentials", credentials},
		{"Access-Control-Allow-Methods", "allowMethods", config.AllowMethods},
		{"Access-Control-Allow-Headers", "allowHeaders", config.AllowHeaders},
		{"Access-Control-Expose-Headers", "exposeHeaders", config.ExposeHeaders},
		{"Access-Control-Max-Age", "maxAge", strconv.Itoa(config.MaxAge)},
	} {
		value := strings.Trim(header.value, " \t")
		if !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("nginxCORS.%s has a control character", header.option)
		}
		if value != "" {
			c.edits = append(c.edits, headerlist.Edit{Name: header.name, Value: value, Kind: headerlist.Set})
		}
	}
	return c, nil
}

// NoRetain implements httpio.NoRetainer.
func (*NginxCORS) NoRetain() {}

// Wrap returns a handler that answers OPTIONS of an allowed origin with 204, and calls next for others. Responses to an
// allowed origin have the CORS headers in place of those of the service.
func (c *NginxCORS) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		edits, allowed := c.allow(r)
		switch {
		case !allowed:
			next.ServeHTTP(w, r)
		case r.Method == http.MethodOptions:
			header := w.Header()
			for _, edit := range edits {
				header[edit.Name] = []string{edit.Value}
			}
			w.WriteHeader(http.StatusNoContent)
		default:
			headerlist.Serve(w, r, next, edits)
		}
	})
}

// allow returns the edits of the response to a request, if its origin is allowed. Several lines of Origin are one text.
func (c *NginxCORS) allow(r *http.Request) (edits []headerlist.Edit, allowed bool) {
	if c.any {
		return c.edits, true
	}
	sent := strings.Join(r.Header["Origin"], ", ")
	for i := range c.origins {
		if !c.origins[i].matches(sent) {
			continue
		}
		edits = append(make([]headerlist.Edit, 0, len(c.edits)), c.edits...)
		edits[0].Value = sent
		return edits, true
	}
	return nil, false
}
