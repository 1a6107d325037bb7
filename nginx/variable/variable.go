// Package variable reads texts with variables of nginx, such as "https://$host$request_uri".
package variable

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/nginx/pcre"
)

// MaxText bounds the bytes of a text.
const MaxText = 16 << 10

// Kind is what a variable stands for.
type Kind uint8

// The kinds of variables, each with nginx's names.
const (
	// Scheme is $scheme and $pass_access_scheme: "http" or "https".
	Scheme Kind = iota + 1
	// Host is $host: the requested host in lower case without port.
	Host
	// HTTPHost is $http_host: the Host header as sent.
	HTTPHost
	// RequestURI is $request_uri: path and query as sent.
	RequestURI
	// URI is $uri and $document_uri: the decoded, normalised path.
	URI
	// Args is $args and $query_string: the query without question mark.
	Args
	// IsArgs is $is_args: "?" if the request has a query.
	IsArgs
	// RemoteAddr is $remote_addr: the address of the client.
	RemoteAddr
	// RequestMethod is $request_method.
	RequestMethod
	// ServerPort is $server_port: the port that has accepted the request.
	ServerPort
	// RequestID is $req_id: the X-Request-ID of the request, or a generated one.
	RequestID
	// Certificate is $ssl_client_NAME; the name is one of cert, escaped_cert, fingerprint, i_dn, s_dn, serial, v_end,
	// v_start, verify.
	Certificate
	// Header is $http_NAME; the name is the canonical one of the header.
	Header
	// Cookie is $cookie_NAME.
	Cookie
	// Arg is $arg_NAME: the value of a parameter of the query, not decoded.
	Arg
	// Object is what ingress-nginx sets for a location; the name is namespace, ingress_name, service_name or service_port.
	Object
	// Capture is $1 to $9, and the groups of a pattern by name; see Variable.Number.
	Capture
	// RemoteUser is $remote_user: the user of the credentials of basic authentication, verified or not.
	RemoteUser
	// EscapedRequestURI is $escaped_request_uri of ingress-nginx: path and query as sent, escaped as a part of a query.
	EscapedRequestURI
	// BestHTTPHost is $best_http_host of ingress-nginx: the first host of X-Forwarded-Host, which is that of a trusted peer
	// or the Host header.
	BestHTTPHost
)

// Variable is a variable of a text.
type Variable struct {
	// Kind is what it stands for.
	Kind Kind
	// Name is the name of a header, cookie, parameter or object, and of a field of the certificate.
	Name string
	// Number is that of a group, from 1 on.
	Number int
}

// UnknownError is why a text is refused that has a variable without a meaning here.
type UnknownError struct {
	// Name is that of the variable, without dollar sign.
	Name string
}

// Error implements error. A long name that does not look like one of nginx may be a part of a password or of its hash,
// and is left out.
func (e *UnknownError) Error() string {
	const short, longest, lower = 8, 32, "abcdefghijklmnopqrstuvwxyz_"
	letters := lower
	if e.Name != "" && e.Name[0] >= 'a' && e.Name[0] <= 'z' && strings.Contains(e.Name, "_") {
		letters = lower + "0123456789" // As in $geoip2_city_country_code.
	}
	if len(e.Name) > longest || len(e.Name) > short && strings.Trim(e.Name, letters) != "" {
		return "what follows a dollar sign is no variable"
	}
	return "the variable $" + e.Name + " is unknown"
}

// Values has the values of variables.
type Values interface {
	// Value returns the value of a variable; empty when it has none.
	Value(of Variable) string
}

// Template is a parsed text. It is immutable; the zero value is the empty text.
type Template struct{ parts []part }

// part is literal text, or a variable when it has a kind.
type part struct {
	text     string
	variable Variable
}

// Parse reads a text with variables "$name" and "${name}". Unknown variables are an [*UnknownError]. Control characters
// are refused.
func Parse(text string) (Template, error) { return parse(text, nil) }

// ParseReplacement reads a text in which the groups of a pattern are also known by their names.
func ParseReplacement(text string, pattern *pcre.Regexp) (Template, error) {
	return parse(text, pattern)
}

func parse(text string, pattern *pcre.Regexp) (Template, error) {
	if len(text) > MaxText {
		return Template{}, fmt.Errorf("the text has %d bytes, more than the %d that are allowed", len(text), MaxText)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return Template{}, fmt.Errorf("byte %d is a control character", i)
	}
	var parts []part
	for text != "" {
		literal, rest, found := strings.Cut(text, "$")
		if literal != "" {
			parts = append(parts, part{text: literal})
		}
		if !found {
			break
		}
		name, rest, err := nameOf(rest)
		if err != nil {
			return Template{}, err
		}
		one, known := known(name, pattern)
		if !known {
			return Template{}, &UnknownError{Name: name}
		}
		parts = append(parts, part{variable: one})
		text = rest
	}
	return Template{parts}, nil
}

// nameOf returns the name that follows a dollar sign. That of a capture is one digit.
func nameOf(text string) (name, rest string, err error) {
	if text != "" && text[0] >= '1' && text[0] <= '9' {
		return text[:1], text[1:], nil
	}
	inner, braced := strings.CutPrefix(text, "{")
	name = inner
	if end := strings.IndexFunc(inner, func(r rune) bool { return !isWord(r) }); end >= 0 {
		name = inner[:end]
	}
	rest = inner[len(name):]
	if braced {
		var closed bool
		if rest, closed = strings.CutPrefix(rest, "}"); !closed {
			return "", "", errors.New("the closing bracket behind ${ is missing")
		}
	}
	if name == "" {
		return "", "", errors.New("a dollar sign without the name of a variable")
	}
	if braced && len(name) == 1 && name[0] >= '0' && name[0] <= '9' {
		return "", "", &UnknownError{Name: "{" + name + "}"} // Braces are for names.
	}
	return name, rest, nil
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
}

// known returns the variable of a name.
func known(name string, pattern *pcre.Regexp) (Variable, bool) {
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		return Variable{Kind: Capture, Number: int(name[0] - '0')}, true
	}
	if pattern != nil {
		if number := pattern.Group(name); number > 0 {
			return Variable{Kind: Capture, Number: number}, true
		}
	}
	switch name = strings.ToLower(name); name { // nginx ignores the case of names.
	case "namespace", "ingress_name", "service_name", "service_port":
		return Variable{Kind: Object, Name: name}, true
	}
	if kind, is := plain(name); is {
		return Variable{Kind: kind}, true
	}
	return family(name)
}

// plain returns the kind of a variable that is no family.
func plain(name string) (Kind, bool) {
	kind, is := map[string]Kind{
		"scheme": Scheme, "pass_access_scheme": Scheme, "host": Host, "http_host": HTTPHost, "best_http_host": BestHTTPHost,
		"remote_user": RemoteUser, "escaped_request_uri": EscapedRequestURI, "request_uri": RequestURI,
		"uri": URI, "document_uri": URI,
		"args": Args, "query_string": Args, "is_args": IsArgs, "remote_addr": RemoteAddr, "request_method": RequestMethod,
		"server_port": ServerPort, "req_id": RequestID,
	}[name]
	return kind, is
}

// family returns a variable whose name has two parts.
func family(name string) (Variable, bool) {
	if field, is := strings.CutPrefix(name, "ssl_client_"); is {
		known := []string{"cert", "escaped_cert", "fingerprint", "i_dn", "s_dn", "serial", "v_end", "v_start", "verify"}
		return Variable{Kind: Certificate, Name: field}, slices.Contains(known, field)
	}
	for prefix, kind := range map[string]Kind{"http_": Header, "cookie_": Cookie, "arg_": Arg} {
		if rest, is := strings.CutPrefix(name, prefix); is && rest != "" {
			if kind == Header {
				rest = textproto.CanonicalMIMEHeaderKey(strings.ReplaceAll(rest, "_", "-"))
			}
			return Variable{Kind: kind, Name: rest}, true
		}
	}
	return Variable{}, false
}

// Append appends the text with the values. Control characters of values are percent-encoded, so that no value begins
// another header.
func (t Template) Append(dst []byte, values Values) []byte {
	for i := range t.parts {
		if t.parts[i].variable.Kind == 0 {
			dst = append(dst, t.parts[i].text...)
		} else {
			dst = appendValue(dst, values.Value(t.parts[i].variable))
		}
	}
	return dst
}

func appendValue(dst []byte, value string) []byte {
	const hex = "0123456789ABCDEF"
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		} else {
			dst = append(dst, c)
		}
	}
	return dst
}

// Constant returns the text if it has no variables.
func (t Template) Constant() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].variable.Kind == 0:
		return t.parts[0].text, true
	default:
		return "", false
	}
}

// Has reports whether a variable of the kind is in the text.
func (t Template) Has(kind Kind) bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.variable.Kind == kind })
}

// Parts calls literal and variable for the parts of the text, in its order.
func (t Template) Parts(literal func(text string), variable func(v Variable)) {
	for i := range t.parts {
		if t.parts[i].variable.Kind == 0 {
			literal(t.parts[i].text)
		} else {
			variable(t.parts[i].variable)
		}
	}
}

// Cut splits the text around the first literal separator, which no value can be.
func (t Template) Cut(separator string) (before, after Template, found bool) {
	for i, one := range t.parts {
		left, right, is := strings.Cut(one.text, separator)
		if !is {
			continue
		}
		before, after = Template{slices.Clone(t.parts[:i])}, Template{slices.Clone(t.parts[i+1:])}
		if left != "" {
			before.parts = append(before.parts, part{text: left})
		}
		if right != "" {
			after.parts = slices.Insert(after.parts, 0, part{text: right})
		}
		return before, after, true
	}
	return t, Template{}, false
}
