package jwt

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	strict "github.com/go-jose/go-jose/v4/json"
)

// decode reads the claims of a token that is verified: an object in UTF-8 in which no name comes twice, at any depth.
// Numbers stay as they are written.
func decode(payload []byte) (map[string]any, *refusal) {
	malformed := refuse(invalid, "the claims of the token are malformed")
	// The standard library's decoder bounds the depth of JSON and keeps numbers; the other one detects duplicates.
	if !utf8.Valid(payload) || !json.Valid(payload) {
		return nil, malformed
	}
	var once map[string]any
	checker := strict.NewDecoder(bytes.NewReader(payload))
	checker.SetNumberType(strict.UnmarshalJSONNumber) // Of any size.
	if err := checker.Decode(&once); err != nil || once == nil {
		return nil, malformed
	}
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var claims map[string]any
	if err := decoder.Decode(&claims); err != nil {
		return nil, malformed
	}
	return claims, nil
}

// maxTime bounds times, in seconds: the year 2242, which nanoseconds in 64 bits can hold.
const maxTime = 1 << 33

// instant returns a NumericDate (RFC 7519 section 2) in nanoseconds since 1970. A claim that is missing is not there,
// and one that is no number is not ok.
func instant(claims map[string]any, name string) (at int64, there, ok bool) {
	value, there := claims[name]
	if !there {
		return 0, false, true
	}
	number, ok := value.(json.Number)
	if !ok {
		return 0, true, false
	}
	seconds, err := strconv.ParseFloat(string(number), 64)
	if err != nil || math.IsNaN(seconds) {
		return 0, true, false
	}
	return int64(max(-maxTime, min(seconds, maxTime)) * 1e9), true, true
}

// texts returns a claim that is a text or a list of texts, as aud is (RFC 7519 section 4.1.3).
func texts(value any) (list []string, ok bool) {
	switch v := value.(type) {
	case string:
		return []string{v}, true
	case []any:
		for _, element := range v {
			text, isText := element.(string)
			if !isText {
				return nil, false
			}
			list = append(list, text)
		}
		return list, true
	}
	return nil, false
}

// maxName is how long a user's name in a record is, in bytes.
const maxName = 255

// user returns the subject of the token (sub), in the form for the record of a request.
func user(claims map[string]any) string {
	name, _ := claims["sub"].(string)
	if hasControl(name) {
		return ""
	}
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "")
}

// lookUp finds a claim by its path, in which dots lead into objects. A name may have dots itself: where no object is,
// what is left of the path is one name ("https://example.com/roles").
func lookUp(object map[string]any, path string) (value any, found bool) {
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if inner, ok := object[path[:i]].(map[string]any); ok {
			if value, found = lookUp(inner, path[i+1:]); found {
				return value, true
			}
		}
	}
	value, found = object[path]
	return value, found
}

// scalar returns a text, a number as it is written, or a truth value as text.
func scalar(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return string(v), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// worded are the claims whose text is a list of words (RFC 8693, section 4.2). That of another claim may be one that
// users choose.
func worded(name string) bool { return name == "scope" || name == "scp" }

// has reports whether a claim has one of the values: is it, has it as an element, or has it as a word where the claim
// is made of them.
func has(name string, claim any, values []string) bool {
	if claim == nil {
		return false
	}
	if len(values) == 0 {
		return true
	}
	if list, ok := claim.([]any); ok {
		return slices.ContainsFunc(list, func(element any) bool {
			text, ok := scalar(element)
			return ok && slices.Contains(values, text)
		})
	}
	text, ok := scalar(claim)
	if !ok {
		return false
	}
	if slices.Contains(values, text) {
		return true
	}
	if !worded(name) {
		return false
	}
	for word := range strings.SplitSeq(text, " ") {
		if word != "" && slices.Contains(values, word) {
			return true
		}
	}
	return false
}
