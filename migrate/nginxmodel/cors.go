package nginxmodel

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// crossOrigin sets the headers of CORS, and reports whether the origin is allowed.
func (q *request) crossOrigin() bool {
	cors := q.place.options.CORS
	if cors == nil {
		return false
	}
	origin := q.Header.Get("Origin")
	if len(cors.Origins) == 1 && cors.Origins[0] == "*" {
		origin = "*"
	} else if !allowedOrigin(cors.Origins, origin) {
		return false
	}
	header := q.out.Header
	for name, value := range map[string]string{
		"Allow-Origin": origin, "Allow-Methods": cors.Methods, "Allow-Headers": cors.Headers,
		"Expose-Headers": cors.ExposeHeaders, "Max-Age": strconv.Itoa(cors.MaxAge),
	} {
		if value != "" {
			header.Set("Access-Control-"+name, value)
		}
	}
	if cors.Credentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
	return true
}

// allowedOrigin reports whether a text ends with one of some origins, of which * stands for a label.
func allowedOrigin(origins []string, text string) bool {
	for _, origin := range origins {
		pattern := strings.Replace(regexp.QuoteMeta(origin), `\*`, `[A-Za-z0-9\-]+`, 1)
		if compiled, err := pcre.Compile("("+pattern+")$", pcre.Caseless); err == nil && compiled.Match(text) {
			return true
		}
	}
	return false
}

// hstsValue returns the value of Strict-Transport-Security.
func hstsValue(hsts annotation.HSTS) string {
	value := "max-age=" + strconv.FormatInt(hsts.MaxAge, 10)
	if hsts.IncludeSubdomains {
		value += "; includeSubDomains"
	}
	if hsts.Preload {
		value += "; preload"
	}
	return value
}
