package render

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/integration/nginx/cases"
)

// settings are those of the controller: its ConfigMap and flags.
type settings struct {
	values map[string]string
	flags  []string
}

func newSettings(state *cases.State) settings {
	return settings{values: state.Settings, flags: state.Flags}
}

// text returns a setting, or its default.
func (s settings) text(key, otherwise string) string {
	if value, ok := s.values[key]; ok {
		return value
	}
	return otherwise
}

// flag reports whether a setting is on that is off by default.
func (s settings) flag(key string) bool { return s.on(key, false) }

func (s settings) on(key string, otherwise bool) bool {
	value, err := strconv.ParseBool(s.values[key])
	if err != nil {
		return otherwise
	}
	return value
}

func (s settings) number(key string, otherwise int) int {
	value, err := strconv.Atoi(s.values[key])
	if err != nil {
		return otherwise
	}
	return value
}

// list returns the parts of a setting between commas.
func (s settings) list(key string) []string { return split(s.values[key]) }

// argument returns the value of a flag of the controller.
func (s settings) argument(flag string) string {
	for _, argument := range s.flags {
		if value, ok := strings.CutPrefix(argument, flag+"="); ok {
			return value
		}
	}
	return ""
}

// given reports whether the controller has a flag.
func (s settings) given(flag string) bool {
	return slices.Contains(s.flags, flag) || s.argument(flag) == "true"
}

// hsts returns the value of Strict-Transport-Security; empty without.
func (s settings) hsts() string {
	if !s.on("hsts", true) {
		return ""
	}
	value := "max-age=" + s.text("hsts-max-age", "31536000")
	if s.on("hsts-include-subdomains", true) {
		value += "; includeSubDomains"
	}
	if s.on("hsts-preload", false) {
		value += "; preload"
	}
	return value
}

// listed reports whether a path begins with one of those of a setting.
func (s settings) listed(key, path string) bool {
	return slices.ContainsFunc(split(s.text(key, "/.well-known/acme-challenge")), func(prefix string) bool {
		return strings.HasPrefix(path, prefix)
	})
}

// split returns the parts between commas without spaces and empty ones.
func split(value string) []string {
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}
