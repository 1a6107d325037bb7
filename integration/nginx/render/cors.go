package render

import (
	"regexp"
	"strconv"
	"strings"
)

// The forms of what is taken over from annotations.
var (
	corsOrigin  = regexp.MustCompile(`^([a-z]+://(\*\.)?[A-Za-z0-9\-.]*(:\d+)?|\*|null)?$`)
	corsMethods = regexp.MustCompile(`^([A-Za-z]+,?\s?)+$`)
	corsFields  = regexp.MustCompile(`^[A-Za-z0-9-_, ]*$`)
	corsExposed = regexp.MustCompile(`^(([A-Za-z0-9\-\_]+|\*),?\s?)+$`)
)

// cors are the annotations of cross-origin requests.
type cors struct {
	enabled bool
	// origins is "*" alone for all.
	origins                  []string
	methods, fields, exposed string
	credentials              bool
	age                      string
}

// readCORS reads the annotations of cross-origin requests.
func (o *options) readCORS() {
	c := cors{
		enabled: o.on("enable-cors", false), credentials: o.on("cors-allow-credentials", true),
		age:     strconv.Itoa(o.number("cors-max-age", 1728000)),
		methods: o.form(corsMethods, "cors-allow-methods", "GET, PUT, POST, DELETE, PATCH, OPTIONS"),
		fields: o.form(corsFields, "cors-allow-headers", "DNT,Keep-Alive,User-Agent,X-Requested-With,"+
			"If-Modified-Since,Cache-Control,Content-Type,Range,Authorization"),
		exposed: o.form(corsExposed, "cors-expose-headers", ""),
	}
	value := strings.TrimSpace(o.values["cors-allow-origin"])
	if value == "" {
		c.origins = []string{"*"}
	}
	for _, origin := range split(value) {
		if origin == "*" {
			c.origins = []string{"*"}
			break
		}
		if corsOrigin.MatchString(origin) {
			c.origins = append(c.origins, origin)
		}
	}
	o.cors = c
}

func (o *options) form(form *regexp.Regexp, key, otherwise string) string {
	if value := o.text(key, ""); value != "" && form.MatchString(value) {
		return value
	}
	return otherwise
}

// all reports whether every origin is allowed.
func (c cors) all() bool { return len(c.origins) == 1 && c.origins[0] == "*" }

// write writes the rewrite phase of cross-origin requests. The fields are in variables, which [cors.fieldsOf] adds.
func (c cors) write(t *text) {
	if !c.enabled {
		return
	}
	allowed := "$http_origin"
	switch {
	case c.all():
		allowed = "*"
		t.line("set $cors true;")
	case len(c.origins) > 0:
		patterns := make([]string, len(c.origins))
		for i, origin := range c.origins {
			pattern := strings.Replace(regexp.QuoteMeta(origin), `\*`, `[A-Za-z0-9\-]+`, 1)
			patterns[i] = "(" + pattern + ")"
		}
		t.line("if ($http_origin ~* (%s)$ ) { set $cors true; }", strings.Join(patterns, "|"))
	}
	t.line("if ($request_method = OPTIONS) { set $cors \"${cors}options\"; }")
	for _, state := range []string{"true", "trueoptions"} {
		t.line("if ($cors = %q) {", state)
		t.line("set $cors_origin %s;", quote(allowed))
		if c.credentials {
			t.line("set $cors_credentials true;")
		}
		t.line("set $cors_methods %s;\nset $cors_fields %s;", quote(c.methods), quote(c.fields))
		t.line("set $cors_exposed %s;\nset $cors_age %s;", quote(c.exposed), c.age)
		if state == "trueoptions" {
			t.line("return 204;")
		}
		t.line("}")
	}
}

// fieldsOf writes the fields of the response; those without a value are not sent. The Service's own are dropped.
func (c cors) fieldsOf(t *text) {
	if !c.enabled {
		return
	}
	for _, field := range []struct{ name, variable string }{
		{"Allow-Origin", "origin"},
		{"Allow-Credentials", "credentials"},
		{"Allow-Methods", "methods"},
		{"Allow-Headers", "fields"},
		{"Expose-Headers", "exposed"},
		{"Max-Age", "age"},
	} {
		t.line("proxy_hide_header Access-Control-%s;", field.name)
		t.line("add_header Access-Control-%s $cors_%s always;", field.name, field.variable)
	}
}
