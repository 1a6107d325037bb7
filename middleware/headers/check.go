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
	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// checkNumbers validates numbers, and that any option is set.
func checkNumbers(config dynamic.Headers) error {
	switch {
	case isEmpty(config):
		return errors.New("headers sets nothing")
	case seconds(config) < 0:
		return fmt.Errorf("headers.stsSeconds %d is negative", seconds(config))
	case config.AccessControlMaxAge != nil && *config.AccessControlMaxAge < -1:
		return fmt.Errorf("headers.accessControlMaxAge %d is neither -1, which forbids to remember the answer, nor a "+
			"number of seconds", *config.AccessControlMaxAge)
	}
	return nil
}

// isEmpty reports whether no option is set. Empty lists and maps do not count.
func isEmpty(config dynamic.Headers) bool {
	value := reflect.ValueOf(config)
	for i := range value.NumField() {
		switch field := value.Field(i); field.Kind() {
		case reflect.Map, reflect.Slice:
			if field.Len() > 0 {
				return false
			}
		default:
			if !field.IsZero() {
				return false
			}
		}
	}
	return true
}

// buildRequest builds the edits of requests.
func (h *Headers) buildRequest(config dynamic.Headers) (err error) {
	if h.request, err = edits("headers.customRequestHeaders", config.CustomRequestHeaders); err != nil {
		return err
	}
	if err := h.takeHost(); err != nil {
		return err
	}
	for _, edit := range h.request {
		h.names = append(h.names, edit.name)
	}
	return nil
}

// edits validates one map and sorts it by name.
func edits(option string, config map[string]string) ([]edit, error) {
	var list []edit
	seen := make(map[string]string, len(config))
	for _, given := range sortedNames(config) {
		value := fold(config[given])
		name := http.CanonicalHeaderKey(given)
		switch other, twice := seen[name]; {
		case !isToken(given):
			return nil, fmt.Errorf("%s: %q is not a header name", option, document.ShowKey(given))
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

func sortedNames(config map[string]string) []string { return slices.Sorted(maps.Keys(config)) }

// takeHost moves Host out of the request's headers: net/http keeps it elsewhere.
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

// fold replaces line feeds of multi-line values by spaces.
func fold(value string) string {
	if strings.IndexByte(value, '\n') < 0 {
		return value
	}
	lines := strings.Split(value, "\n")
	for i := range lines {
		lines[i] = strings.Trim(lines[i], " \t")
	}
	return strings.Join(slices.DeleteFunc(lines, func(line string) bool { return line == "" }), " ")
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

// seconds returns max-age of Strict-Transport-Security; 0 sends no header.
func seconds(config dynamic.Headers) int64 {
	if config.STSSeconds == nil {
		return 0
	}
	return *config.STSSeconds
}
