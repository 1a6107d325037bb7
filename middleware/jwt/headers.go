package jwt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/forwarded"
)

// Bounds of the forwarded claims.
const (
	maxHeaders = 32
	maxValue   = 4096 // bytes
)

// headers are claims that are forwarded to the service: the option forwardHeaders. It is an immutable value.
type headers struct {
	names []string // In net/http's canonical spelling.
	paths []string // By the place of the name.
}

// newHeaders checks the option. The header of the token is none of them.
func newHeaders(config map[string]string, token string) (headers, error) {
	if len(config) > maxHeaders {
		return headers{}, fmt.Errorf("jwt.forwardHeaders has %d headers, and more than %d are not taken", len(config),
			maxHeaders)
	}
	made, seen := headers{}, map[string]string{}
	for _, given := range slices.Sorted(maps.Keys(config)) {
		name := http.CanonicalHeaderKey(given)
		if err := checkHeader(name); err != nil {
			return headers{}, fmt.Errorf("jwt.forwardHeaders: %q %w", given, err)
		}
		alias := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		if other, twice := seen[alias]; twice {
			return headers{}, fmt.Errorf("jwt.forwardHeaders: %q and %q are one header", other, given)
		}
		if alias == strings.ToLower(strings.ReplaceAll(token, "_", "-")) {
			return headers{}, fmt.Errorf("jwt.forwardHeaders: %q is jwt.tokenHeader", given)
		}
		if err := checkPath(config[given]); err != nil {
			return headers{}, fmt.Errorf("jwt.forwardHeaders.%s %w", given, err)
		}
		seen[alias] = given
		made.names, made.paths = append(made.names, name), append(made.paths, config[given])
	}
	return made, nil
}

// values returns the values of the headers, empty where the token has no such claim. A claim that a header can't
// carry as it is makes the token one that is not taken: the service must not receive another value.
func (h *headers) values(claims map[string]any) ([]string, *refusal) {
	if len(h.names) == 0 {
		return nil, nil
	}
	values := make([]string, len(h.names))
	for i, path := range h.paths {
		claim, _ := lookUp(claims, path)
		value, err := write(claim)
		if err != nil {
			return nil, refuse(invalid, "the claim for the header "+h.names[i]+" "+err.Error())
		}
		values[i] = value
	}
	return values, nil
}

// write returns a claim as the value of a header: texts, numbers and truth values as they are, a list of such with
// commas between them, and anything else as JSON.
func write(claim any) (string, error) {
	if claim == nil {
		return "", nil
	}
	text, err := "", error(nil)
	if list, ok := claim.([]any); ok && !slices.ContainsFunc(list, func(element any) bool {
		_, plain := scalar(element)
		return !plain
	}) {
		text, err = writeList(list)
	} else {
		text, err = writeOne(claim)
	}
	switch {
	case err != nil:
		return "", err
	case len(text) > maxValue:
		return "", fmt.Errorf("is longer than %d bytes", maxValue)
	}
	return text, nil
}

// writeList refuses texts that a service which splits the list would take for several.
func writeList(list []any) (string, error) {
	parts := make([]string, len(list))
	for i, element := range list {
		text, err := writeOne(element)
		if err != nil {
			return "", err
		}
		if text == "" || strings.Contains(text, ",") {
			return "", errors.New("has an element that is empty or has a comma")
		}
		parts[i] = text
	}
	return strings.Join(parts, ","), nil
}

// writeOne refuses what headers can't carry, or lose on the way.
func writeOne(value any) (string, error) {
	text, ok := scalar(value)
	if !ok {
		var out bytes.Buffer
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(value); err != nil {
			return "", errors.New("can't be written")
		}
		text = strings.TrimSuffix(out.String(), "\n")
	}
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return "", errors.New("has a control character")
	case strings.TrimSpace(text) != text:
		return "", errors.New("begins or ends with a space")
	}
	return text, nil
}

// set makes the request say what the token says, and nothing else: whatever the client sent under one of the names,
// in any spelling, in the head or behind the body, is gone, and no Connection header takes away what is set.
func (h *headers) set(r *http.Request, values []string) {
	if len(h.names) == 0 {
		return
	}
	forwarded.RemoveHeader(r.Header, h.names...)
	forwarded.RemoveTrailers(r, h.names...)
	room := slices.Clone(values) // The next handler may edit it.
	for i, name := range h.names {
		if room[i] != "" {
			r.Header[name] = room[i : i+1 : i+1]
		}
	}
}
