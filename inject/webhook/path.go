package webhook

import (
	"net/url"
	"strings"

	"github.com/sluiceproxy/sluice/inject"
)

const (
	// path is where reviews are answered.
	path = "/inject"
	// slash stands for a slash in a key or value of the path.
	slash = "--slash--"
	// separator begins a variable in the older form of the path: /inject/:ENV:key=value:ENV:key=value.
	separator = ":ENV:"
	// maxVariables and maxVariable bound the number of variables, and the bytes of a key or value.
	maxVariables, maxVariable = 32, 512
)

// environment returns the variables of an escaped path: /inject/key/value/key/value. It is false for another path. A
// key without a value is left out.
func environment(escaped string) ([]inject.KeyValue, bool) {
	rest, ok := strings.CutPrefix(escaped, path)
	if !ok || rest != "" && rest[0] != '/' {
		return nil, false
	}
	rest = strings.Trim(rest, "/")
	var parts []string
	if listed, older := strings.CutPrefix(rest, separator); older {
		for _, pair := range strings.Split(listed, separator) {
			if key, value, found := strings.Cut(pair, "="); found {
				parts = append(parts, key, value)
			}
		}
	} else if rest != "" {
		parts = strings.Split(rest, "/")
	}
	if len(parts)/2 > maxVariables {
		return nil, false
	}
	var variables []inject.KeyValue
	for i := 0; i+1 < len(parts); i += 2 {
		key, value := unescape(parts[i]), unescape(parts[i+1])
		if len(key) > maxVariable || len(value) > maxVariable {
			return nil, false
		}
		if key != "" {
			variables = append(variables, inject.KeyValue{Key: key, Value: value})
		}
	}
	return variables, true
}

// unescape decodes one part of a path; what is not escaped properly stays as it is.
func unescape(part string) string {
	if decoded, err := url.PathUnescape(part); err == nil {
		part = decoded
	}
	return strings.ReplaceAll(part, slash, "/")
}
