package render

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// prefix is that of the annotations.
const prefix = "nginx.ingress.kubernetes.io/"

// options are the annotations of an Ingress, with defaults from the settings.
type options struct {
	values map[string]string
	// denied is why the locations answer 503; empty where they do not.
	denied string
	// clientTLSDenied is why all requests to the host are answered with 403.
	clientTLSDenied string

	target                         string
	regex, force, secure, preserve bool
	appRoot                        string
	redirect                       redirect
	access                         access
	basic                          basic
	auth                           auth
	cors                           cors
	limit                          limit
	customHeaders                  map[string]string
	errors                         []string
	clientTLS                      clientTLS
	upstreamTLS                    upstreamTLS
}

type redirect struct {
	target        string
	code          int
	www, relative bool
}

type access struct{ denied, allowed []string }

type basic struct{ realm, users string }

type limit struct {
	rps, rpm, connections, multiplier, rate, after int
	allowed                                        []string
}

// read reads the annotations of an Ingress.
func (r *renderer) read(ingress *networkingv1.Ingress) *options {
	o := &options{values: map[string]string{}}
	for key, value := range ingress.Annotations {
		if name, ok := strings.CutPrefix(key, prefix); ok {
			o.values[name] = value
		}
	}
	if target := o.text("rewrite-target", ""); !strings.Contains(target, "?") { // Else the controller ignores it.
		o.target = target
	}
	o.regex = o.on("use-regex", false)
	o.secure = o.on("ssl-redirect", r.settings.on("ssl-redirect", true))
	o.force = o.on("force-ssl-redirect", r.settings.on("force-ssl-redirect", false))
	o.preserve = o.on("preserve-trailing-slash", r.settings.on("preserve-trailing-slash", false))
	if root, err := url.ParseRequestURI(o.values["app-root"]); err == nil && !root.IsAbs() {
		o.appRoot = o.values["app-root"]
	}
	o.readRedirect()
	o.readAccess(r.settings)
	o.readLimit(r.settings)
	o.readCORS()
	o.readAuth(ingress, r.State)
	o.readBasic(ingress, r.State)
	o.readCustomHeaders(r.State, r.settings)
	o.errors = split(o.text("custom-http-errors", r.settings.text("custom-http-errors", "")))
	o.readTLS(ingress, r.Certificates)
	return o
}

func (o *options) text(key, otherwise string) string {
	if value, ok := o.values[key]; ok && value != "" {
		return value
	}
	return otherwise
}

func (o *options) on(key string, otherwise bool) bool {
	value, err := strconv.ParseBool(o.values[key])
	if err != nil {
		return otherwise
	}
	return value
}

func (o *options) number(key string, otherwise int) int {
	value, err := strconv.Atoi(o.values[key])
	if err != nil {
		return otherwise
	}
	return value
}

// deny remembers the first reason.
func (o *options) deny(format string, arguments ...any) {
	if o.denied == "" {
		o.denied = fmt.Sprintf(format, arguments...)
	}
}

// readRedirect reads the annotations of return. The temporary one wins.
func (o *options) readRedirect() {
	o.redirect.www = o.on("from-to-www-redirect", false)
	o.redirect.relative = o.on("relative-redirects", false)
	within := func(code, highest, otherwise int) int {
		if code < 300 || code > highest {
			return otherwise
		}
		return code
	}
	if target := o.text("temporal-redirect", ""); target != "" {
		o.redirect.target = target
		o.redirect.code = within(o.number("temporal-redirect-code", 0), 307, 302)
		return
	}
	o.redirect.target = o.text("permanent-redirect", "")
	o.redirect.code = within(o.number("permanent-redirect-code", 0), 308, 301)
}

// readAccess reads the lists of addresses. A list without an address denies the location.
func (o *options) readAccess(s settings) {
	o.access.denied = o.addresses(s.list("denylist-source-range"), "denylist-source-range")
	o.access.allowed = o.addresses(s.list("whitelist-source-range"), "allowlist-source-range", "whitelist-source-range")
}

func (o *options) addresses(otherwise []string, keys ...string) []string {
	for _, key := range keys {
		value, ok := o.values[key]
		if !ok {
			continue
		}
		networks := split(value)
		for _, network := range networks {
			if !address(network) {
				o.deny("%s: %q is no network", key, network)
			}
		}
		if len(networks) == 0 {
			o.deny("%s has no network", key)
		}
		slices.Sort(networks)
		return networks
	}
	return otherwise
}

// readLimit reads the limits. A value that is no number sets no limit.
func (o *options) readLimit(s settings) {
	o.limit = limit{
		rps: o.number("limit-rps", 0), rpm: o.number("limit-rpm", 0), connections: o.number("limit-connections", 0),
		multiplier: o.number("limit-burst-multiplier", 5),
		rate:       o.number("limit-rate", s.number("limit-rate", 0)),
		after:      o.number("limit-rate-after", s.number("limit-rate-after", 0)),
		allowed:    split(o.text("limit-allowlist", o.text("limit-whitelist", ""))),
	}
}

// readBasic reads the annotations of authentication with passwords. A Secret that cannot be read denies the location.
func (o *options) readBasic(ingress *networkingv1.Ingress, state *cases.State) {
	kind, ok := o.values["auth-type"]
	if !ok {
		return
	}
	if kind != "basic" {
		o.deny("auth-type %q", kind)
		return
	}
	namespace, name := named(ingress.Namespace, o.values["auth-secret"])
	if namespace != ingress.Namespace {
		o.deny("auth-secret is in another namespace")
		return
	}
	for _, secret := range state.Objects.Secrets {
		if secret.Namespace != namespace || secret.Name != name {
			continue
		}
		o.basic = basic{realm: o.values["auth-realm"], users: string(secret.Data["auth"])}
		switch o.text("auth-secret-type", "auth-file") {
		case "auth-file":
			if len(secret.Data["auth"]) == 0 {
				o.deny("the Secret has no key auth")
			}
		case "auth-map":
			o.basic.users = ""
			for user, hash := range secret.Data {
				o.basic.users += user + ":" + string(hash) + "\n"
			}
		default:
			o.deny("auth-secret-type")
		}
		return
	}
	o.deny("there is no Secret %s/%s", namespace, name)
}

// readCustomHeaders reads the ConfigMap of custom-headers, whose names must be allowed.
func (o *options) readCustomHeaders(state *cases.State, s settings) {
	key := o.text("custom-headers", "")
	if key == "" {
		return
	}
	namespace, name, _ := strings.Cut(key, "/")
	for _, config := range state.Objects.ConfigMaps {
		if config.Namespace != namespace || config.Name != name {
			continue
		}
		for field := range config.Data {
			if !slices.Contains(s.list("global-allowed-response-headers"), field) {
				o.deny("field %s is not allowed", field)
			}
		}
		o.customHeaders = config.Data
		return
	}
	o.deny("there is no ConfigMap %s", key)
}

// named returns the namespace and name of "NAMESPACE/NAME" or "NAME".
func named(otherwise, key string) (namespace, name string) {
	namespace, name, ok := strings.Cut(key, "/")
	if !ok {
		return otherwise, namespace
	}
	return namespace, name
}
