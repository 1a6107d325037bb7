package accesslog

import (
	"cmp"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

// mode is how a field, a header or the query is logged. The modes are ordered by how much they hide.
type mode uint8

const (
	keep mode = iota
	redact
	drop
)

// redacted replaces a hidden value, as in Traefik.
const redacted = "REDACTED"

// parseMode reads a mode. The empty text is the fallback. An unknown one is an error, because guessing might
// write what was to be hidden.
func parseMode(option, text string, fallback mode, redacts bool) (mode, error) {
	switch strings.ToLower(text) {
	case "":
		return fallback, nil
	case "keep":
		return keep, nil
	case "drop":
		return drop, nil
	case "redact":
		if redacts {
			return redact, nil
		}
		return fallback, fmt.Errorf("%s %q: not one of keep, drop", option, text)
	}
	if redacts {
		return fallback, fmt.Errorf("%s %q: not one of keep, drop, redact", option, text)
	}
	return fallback, fmt.Errorf("%s %q: not one of keep, drop", option, text)
}

// namedMode is the mode of one header.
type namedMode struct {
	name string
	mode mode
}

// headerModes select the headers that are logged. They are read by many requests at a time.
type headerModes struct {
	fallback mode
	named    map[string]mode
	// logged are the named headers that are not dropped, by name.
	logged []namedMode
}

// parseHeaderModes reads the modes of headers. Where two spellings of one name disagree, the one that hides
// more is taken.
func parseHeaderModes(fallback string, names map[string]string) (headerModes, error) {
	const option = "accessLog.fields.headers."
	parsed := headerModes{named: make(map[string]mode, len(names))}
	var err error
	if parsed.fallback, err = parseMode(option+"defaultMode", fallback, drop, true); err != nil {
		return parsed, err
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		read, err := parseMode(option+"names."+name, names[name], parsed.fallback, true)
		if err != nil {
			return parsed, err
		}
		canonical := textproto.CanonicalMIMEHeaderKey(strings.TrimSpace(name))
		if before, twice := parsed.named[canonical]; twice {
			read = max(read, before)
		}
		parsed.named[canonical] = read
	}
	for name, read := range parsed.named {
		if read != drop {
			parsed.logged = append(parsed.logged, namedMode{name, read})
		}
	}
	slices.SortFunc(parsed.logged, func(a, b namedMode) int { return cmp.Compare(a.name, b.name) })
	return parsed, nil
}

// any reports whether a header may be logged at all.
func (h *headerModes) any() bool { return h.fallback != drop || len(h.logged) > 0 }

// of returns the mode of a header by its canonical name.
func (h *headerModes) of(name string) mode {
	if named, ok := h.named[name]; ok {
		return named
	}
	if h.fallback == keep && credential(name) {
		return redact
	}
	return h.fallback
}

// credential reports whether a header is there to carry a secret, so that keeping all headers does not keep it.
func credential(name string) bool {
	switch textproto.CanonicalMIMEHeaderKey(name) {
	case "Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Authentication-Info",
		"Proxy-Authentication-Info",
		"X-Api-Key", "Api-Key", "Apikey", "X-Apikey", "X-Auth-Token", "X-Access-Token", "X-Auth-Key", "X-Csrf-Token",
		"X-Xsrf-Token",
		"X-Amz-Security-Token", "X-Forwarded-Access-Token", "X-Id-Token", "X-Vault-Token", "X-Gitlab-Token", "Private-Token",
		"X-Goog-Api-Key", "X-Hub-Signature", "X-Hub-Signature-256", "X-Session-Token", "X-Refresh-Token",
		"Cf-Access-Client-Secret":
		return true
	}
	return false
}
