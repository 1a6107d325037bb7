// Package redact replaces secrets in configurations before output.
//
// Copy returns a deep copy of a value of package dynamic or static, in which fields with the tag secret contain xxxx
// instead of secrets. The input is not changed.
//
// The tag is the kind of content:
//
//	secret:"true"   a secret
//	secret:"file"   the path of a file, which is shown; inline PEM text and keys are not
//	secret:"url"    a URL, of which scheme, host and path are shown; a plain address is shown as a whole
//	secret:"host"   a URL, of which scheme and host are shown
//	secret:"path"   the path and query of a URL, of which the path is shown, and parameters like url={url}, whose value
//	                is a placeholder; it begins with / or {status}
//
// The tag applies to everything below the field: elements of lists, and values of maps. If the values of a map are
// secret, keys other than words are too.
package redact

import (
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Hidden replaces secrets. An empty text stays empty.
const Hidden = "xxxx"

// Copy returns a deep copy of a value without its secrets. Functions and channels are left out. Strings behind an
// interface count as secrets, since no tag describes them.
func Copy[T any](value T) T {
	var out T
	put(reflect.ValueOf(&out).Elem(), reflect.ValueOf(&value).Elem(), "")
	return out
}

// put copies source into target; rule is the tag of the field that it belongs to.
func put(target, source reflect.Value, rule string) {
	switch source.Kind() {
	case reflect.Pointer:
		if !source.IsNil() {
			target.Set(reflect.New(source.Type().Elem()))
			put(target.Elem(), source.Elem(), rule)
		}
	case reflect.Interface:
		putInterface(target, source, rule)
	case reflect.Struct:
		putStruct(target, source, rule)
	case reflect.Slice:
		putSlice(target, source, rule)
	case reflect.Array:
		for i := range source.Len() {
			put(target.Index(i), source.Index(i), rule)
		}
	case reflect.Map:
		putMap(target, source, rule)
	case reflect.String:
		target.SetString(text(source.String(), rule))
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		target.Set(source)
	}
}

// putInterface copies the value of an interface. Free-form values have no tags; our own models do.
func putInterface(target, source reflect.Value, rule string) {
	if source.IsNil() {
		return
	}
	inner := source.Elem()
	switch inner.Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		value := reflect.New(inner.Type()).Elem()
		put(value, inner, rule)
		target.Set(value)
	case reflect.String:
		target.Set(reflect.ValueOf(text(inner.String(), always)).Convert(inner.Type()))
	default:
		if rule == "" {
			target.Set(inner)
		} else if source.NumMethod() == 0 {
			target.Set(reflect.ValueOf(Hidden))
		}
	}
}

// container is a value whose elements reflection cannot copy. Redacted returns a redacted copy of the same type.
type container interface{ Redacted() any }

func putStruct(target, source reflect.Value, rule string) {
	if whole, ok := source.Interface().(container); ok {
		target.Set(reflect.ValueOf(whole.Redacted()))
		return
	}
	exported := false
	for field := range source.Type().Fields() {
		if !field.IsExported() {
			continue
		}
		inner := rule
		if tag, ok := field.Tag.Lookup("secret"); ok {
			inner = tag
		}
		exported = true
		put(target.FieldByIndex(field.Index), source.FieldByIndex(field.Index), inner)
	}
	if !exported {
		target.Set(source) // A time.Time or netip.Addr: a value without tags.
	}
}

func putSlice(target, source reflect.Value, rule string) {
	if source.IsNil() {
		return
	}
	if rule != "" && source.Type().Elem().Kind() == reflect.Uint8 {
		target.SetBytes([]byte(text(string(source.Bytes()), rule)))
		return
	}
	target.Set(reflect.MakeSlice(source.Type(), source.Len(), source.Len()))
	for i := range source.Len() {
		put(target.Index(i), source.Index(i), rule)
	}
}

func putMap(target, source reflect.Value, rule string) {
	if source.IsNil() {
		return
	}
	target.Set(reflect.MakeMapWithSize(source.Type(), source.Len()))
	for key, value := range source.Seq2() {
		element := reflect.New(source.Type().Elem()).Elem()
		put(element, value, rule)
		if rule != "" && key.Kind() == reflect.String && !isWord(key.String()) {
			key = reflect.ValueOf(Hidden).Convert(key.Type())
		}
		target.SetMapIndex(key, element)
	}
}

const (
	always = "true"
	file   = "file"
	whole  = "url"
	host   = "host"
	path   = "path"
)

// text returns the visible part of a text. An unknown rule hides everything.
func text(value, rule string) string {
	switch {
	case value == "" || rule == "":
		return value
	case rule == file && isFile(value):
		return value
	case rule == path && (isPath(value) || strings.HasPrefix(value, "{status}")):
		end := strings.IndexAny(value, "?#")
		if end < 0 {
			return value
		}
		if value[end] == '?' {
			return value[:end+1] + parameters(value[end+1:])
		}
		return value[:end+1] + Hidden
	case (rule == whole || rule == host) && isAddress(value):
		return value
	case rule == whole || rule == host:
		return address(value, rule == whole)
	}
	return Hidden
}

// parameters returns a query in which every parameter is hidden that is not a placeholder, or a word with a placeholder
// as its value.
func parameters(query string) string {
	list := strings.Split(query, "&")
	for i, parameter := range list {
		name, value, _ := strings.Cut(parameter, "=")
		if !isPlaceholder(parameter) && (!isWord(name) || !isPlaceholder(value)) {
			list[i] = Hidden
		}
	}
	return strings.Join(slices.Compact(list), "&")
}

// isPlaceholder reports whether a value is one of the placeholders of the middleware errors.
func isPlaceholder(value string) bool {
	return value == "{status}" || value == "{originalStatus}" || value == "{url}"
}

// isPath reports whether a value is an absolute path, and not an address without a scheme.
func isPath(value string) bool {
	return strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "//")
}

// URL returns the visible part of a URL, as for the tag secret:"url".
func URL(value string) string { return text(value, whole) }

// isFile reports whether a value is a path, and not a list of users, a URL, or base64 without its PEM header, which has
// neither a dot nor a slash in front. A path with characters that are rare in paths is hidden, too.
func isFile(value string) bool {
	return (strings.HasPrefix(value, "/") || strings.Contains(value, ".")) && !strings.ContainsFunc(value,
		func(r rune) bool {
			return !alphanumeric(r) && !strings.ContainsRune("/._-+~", r)
		})
}

// address returns the scheme and the host of a URL, and its path where that may be shown; all else is hidden.
func address(value string, withPath bool) string {
	parsed, err := url.Parse(value)
	if err != nil || parsed.Scheme == "" || !isHost(parsed.Host) && !isSocket(parsed) {
		return Hidden
	}
	if parsed.User == nil && strings.Contains(parsed.Path+parsed.RawQuery+parsed.Fragment, "@") {
		// A password with / ? or # ends the host early, and what looks like host and port is the user and its beginning.
		return Hidden
	}
	shown := url.URL{Scheme: parsed.Scheme, Host: parsed.Host}
	if parsed.User != nil {
		shown.User = url.User(Hidden)
	}
	switch {
	case withPath:
		shown.Path, shown.RawPath = parsed.Path, parsed.RawPath
	case parsed.Path != "":
		shown.Path = "/" + Hidden
	}
	if parsed.RawQuery != "" || parsed.ForceQuery {
		shown.RawQuery = Hidden
	}
	if parsed.Fragment != "" {
		shown.Fragment = Hidden
	}
	return shown.String()
}

// isSocket reports whether a URL names a socket by its path.
func isSocket(address *url.URL) bool {
	return (address.Scheme == "unix" || address.Scheme == "npipe") && address.Host == "" && strings.HasPrefix(address.Path,
		"/")
}

// isAddress reports whether a value is host:port without a scheme, and not user:password.
func isAddress(value string) bool {
	name, port, err := net.SplitHostPort(value)
	if err != nil {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number > 0 && isHost(name)
}

// isHost reports whether a text is a host name or an address, with or without a port.
func isHost(value string) bool {
	if name, port, err := net.SplitHostPort(value); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
		value = name
	}
	if _, err := netip.ParseAddr(strings.Trim(value, "[]")); err == nil {
		return true
	}
	return value != "" && !strings.ContainsFunc(value, func(r rune) bool {
		return !alphanumeric(r) && r != '-' && r != '.' && r != '_'
	})
}

// isWord reports whether the key of a map is a name as headers, labels and options have them.
func isWord(key string) bool {
	return key != "" && len(key) <= 128 && !strings.ContainsFunc(key, func(r rune) bool {
		return !alphanumeric(r) && !strings.ContainsRune("-_.", r)
	})
}

func alphanumeric(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}
