package headers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
)

// Unsupported returns the first option that is set and not built yet, as it is spelled in files, or "". All of them (CORS, allowed hosts,
// security headers) protect somebody, so a definition that sets one can't be put to work without it.
func Unsupported(config dynamic.Headers) string {
	config.CustomRequestHeaders, config.CustomResponseHeaders = nil, nil
	value := reflect.ValueOf(config)
	for i := range value.NumField() {
		if field := value.Field(i); !field.IsZero() {
			name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			return name
		}
	}
	return ""
}

func checkSupported(config dynamic.Headers) error {
	if option := Unsupported(config); option != "" {
		return fmt.Errorf("headers.%s is not supported yet", option)
	}
	if len(config.CustomRequestHeaders)+len(config.CustomResponseHeaders) == 0 {
		return errors.New("headers sets nothing")
	}
	return nil
}

// edits checks one map and orders it by name.
func edits(option string, config map[string]string) ([]edit, error) {
	var list []edit
	seen := make(map[string]string, len(config))
	for _, given := range slices.Sorted(maps.Keys(config)) {
		value := config[given]
		name := http.CanonicalHeaderKey(given)
		switch other, twice := seen[name]; {
		case !isToken(given):
			return nil, fmt.Errorf("%s: %q is not a header name", option, given)
		case twice:
			return nil, fmt.Errorf("%s: %q and %q are the same header", option, other, given)
		case !isValue(value):
			return nil, fmt.Errorf("%s: the value of %s has a control character", option, given)
		case value != "" && (name == "Content-Length" || name == "Transfer-Encoding"):
			return nil, fmt.Errorf("%s: %s frames the message and can't be set", option, given)
		}
		seen[name] = given
		list = append(list, edit{name: name, value: value})
	}
	return list, nil
}

// takeHost moves Host from the request's headers, where net/http does not keep it.
func (h *Headers) takeHost() error {
	at := slices.IndexFunc(h.request, func(e edit) bool { return e.name == "Host" })
	if at < 0 {
		return nil
	}
	host := h.request[at].value
	if host == "" {
		return errors.New("headers.customRequestHeaders: Host can't be removed")
	}
	if _, ok := canonical.Host(host); !ok {
		return fmt.Errorf("headers.customRequestHeaders: Host %q is not a host", host)
	}
	h.host = host
	h.request = slices.Delete(h.request, at, at+1)
	return nil
}

// isToken reports whether s is a token (RFC 9110 section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if ('a' > c || c > 'z') && ('0' > s[i] || s[i] > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", s[i]) < 0 {
			return false
		}
	}
	return s != ""
}

// isValue reports whether s is a field value (RFC 9110 section 5.5).
func isValue(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' && s[i] != '\t' || s[i] == 0x7f {
			return false
		}
	}
	return true
}
