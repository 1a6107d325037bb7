package headers

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
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

// cors is the CORS configuration. Empty values send no header.
type cors struct {
	origins     origins
	credentials bool
	// answers is set if preflight requests are answered here.
	answers              bool
	exposed, maxAge      string
	methods, headers     string
	anyMethod, anyHeader bool // anything requested, which is repeated in the answer
	vary                 bool
}

// grant is the CORS part of one response.
type grant struct {
	origin      string // of Access-Control-Allow-Origin; empty sends no header
	credentials bool
	any         bool // whether there are headers to send
}

func (h *Headers) buildCORS(config dynamic.Headers) error {
	list, warnings, err := newOrigins(config)
	if err != nil {
		return err
	}
	c := &cors{origins: list, credentials: config.AccessControlAllowCredentials, vary: config.AddVaryHeader}
	if c.headers, c.anyHeader, err = c.join("accessControlAllowHeaders", config.AccessControlAllowHeaders); err != nil {
		return err
	}
	if c.methods, c.anyMethod, err = c.join("accessControlAllowMethods", config.AccessControlAllowMethods); err != nil {
		return err
	}
	if c.exposed, _, err = c.join("accessControlExposeHeaders", config.AccessControlExposeHeaders); err != nil {
		return err
	}
	if config.AccessControlMaxAge != nil {
		c.maxAge = strconv.FormatInt(*config.AccessControlMaxAge, 10)
	}
	// A middleware that only adds Vary does not answer preflight requests; the service may.
	c.answers = c.origins.configured || c.credentials || c.maxAge != "" ||
		len(config.AccessControlAllowHeaders)+len(config.AccessControlAllowMethods)+len(config.AccessControlExposeHeaders) > 0
	if c.answers || c.vary {
		h.cors, h.warnings = c, append(h.warnings, warnings...)
	}
	return nil
}

// join returns names, of which an item may be a list with commas, as one value. With credentials "*" is a name rather
// than a wildcard (Fetch standard, section 3.2.5); any is set instead.
func (c *cors) join(option string, items []string) (list string, any bool, err error) {
	var names []string
	for _, item := range items {
		for name := range strings.SplitSeq(item, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case !isToken(name):
				return "", false, fmt.Errorf("headers.%s: %q is not a name", option, name)
			default:
				names = append(names, name)
			}
		}
	}
	if c.credentials && slices.Contains(names, "*") {
		return "", true, nil
	}
	return strings.Join(names, ","), false, nil
}

// preflight answers a preflight request: OPTIONS with an origin and a requested method. It returns false for other
// requests.
func (c *cors) preflight(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodOptions || !c.answers || first(r.Header["Origin"]) == "" {
		return false
	}
	method := first(r.Header[requestMethod])
	if method == "" {
		return false
	}
	header := w.Header()
	set := func(name, value string) {
		if value != "" {
			header[name] = []string{value}
		}
	}
	granted, methods, names := c.grant(canonical.SoleOrigin(r.Header)), c.methods, c.headers
	if c.anyMethod && granted.origin != "" && isToken(method) {
		methods = method
	}
	if requested := r.Header[requestHeaders]; c.anyHeader && granted.origin != "" && areTokens(requested) {
		names = strings.Join(requested, ",")
	}
	set(allowOrigin, granted.origin)
	if c.credentials {
		set(allowCredentials, "true")
	}
	set(allowHeaders, names)
	set(allowMethods, methods)
	set(exposeHeaders, c.exposed)
	set(maxAge, c.maxAge)
	set("Content-Length", "0")
	w.WriteHeader(http.StatusOK)
	return true
}

// grant returns the CORS headers for an origin. If origins are listed, only they are allowed credentials; permissions
// by the service do not extend this.
func (c *cors) grant(origin string) grant {
	var granted grant
	if origin != "" || c.origins.any {
		granted.origin, _ = c.origins.allow(origin, c.credentials)
	}
	granted.credentials = c.credentials && (granted.origin != "" || !c.origins.configured)
	granted.any = granted.origin != "" || granted.credentials || c.exposed != "" || c.vary
	return granted
}

// edit sets the CORS headers of a response.
func (c *cors) edit(header http.Header, granted grant) {
	values := make([]string, 3)
	set := func(i int, name, value string) {
		if value != "" {
			values[i] = value
			header[name] = values[i : i+1 : i+1]
		}
	}
	set(0, allowOrigin, granted.origin)
	if granted.credentials {
		set(1, allowCredentials, "true")
	}
	set(2, exposeHeaders, c.exposed)
	if c.vary {
		addVary(header)
	}
}

// addVary adds Origin to Vary, on one line, unless it is there.
func addVary(header http.Header) {
	lines := header["Vary"]
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			if name = strings.Trim(name, " \t"); name == "*" || strings.EqualFold(name, "Origin") {
				return
			}
		}
	}
	value := strings.Join(lines, ",")
	if value != "" {
		value += ","
	}
	header["Vary"] = []string{value + "Origin"}
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// areTokens reports whether the lines are lists of tokens, which are safe to repeat.
func areTokens(lines []string) bool {
	for _, line := range lines {
		for token := range strings.SplitSeq(line, ",") {
			if !isToken(strings.Trim(token, " \t")) {
				return false
			}
		}
	}
	return len(lines) > 0
}
