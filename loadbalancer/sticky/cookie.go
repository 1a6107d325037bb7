package sticky

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Cookie is the sticky cookie of one service. It is immutable and compared with ==. The zero value has no name
// and matches no cookie.
type Cookie struct {
	name string
	// attributes is what follows the value in a Set-Cookie field.
	attributes string
}

// New returns the cookie of a service (its qualified name) with the options of sticky.cookie. The default name
// is _ and five hexadecimal digits derived from the service's name; characters that a cookie name may not
// contain become _, as in Traefik. The path defaults to /; an empty path sets none. maxAge is in seconds: 0 is
// a session cookie, negative deletes the cookie. A nil config has no options.
//
// It is an error when name, path or domain hold a control character or a semicolon, when a domain is no host name or
// address, and when sameSite is none of none, lax and strict in any case.
func New(service string, config *dynamic.Cookie) (Cookie, error) {
	if config == nil {
		config = &dynamic.Cookie{}
	}
	if err := check(config); err != nil {
		return Cookie{}, err
	}
	mode, err := sameSite(config.SameSite)
	if err != nil {
		return Cookie{}, err
	}
	name := defaultName(service)
	if config.Name != "" {
		name = strings.Map(nameRune, config.Name)
	}
	path := "/"
	if config.Path != nil {
		path = *config.Path
	}
	field := http.Cookie{
		Name: name, Path: path, Domain: config.Domain, MaxAge: config.MaxAge,
		Secure: config.Secure, HttpOnly: config.HTTPOnly, SameSite: mode,
	}
	return Cookie{name: name, attributes: strings.TrimPrefix(field.String(), name+"=")}, nil
}

// Name returns the cookie's name.
func (c *Cookie) Name() string { return c.name }

// Set returns the value of the Set-Cookie field that keeps the client with the server of an ID.
func (c *Cookie) Set(id string) string { return c.name + "=" + id + c.attributes }

// nameRune returns the character of a cookie's name, or _ in place of one that it may not hold (RFC 9110
// section 5.6.2).
func nameRune(r rune) rune {
	switch {
	case isLetter(r), isDigit(r), strings.ContainsRune("!#$%&'*+-.^`|~", r):
		return r
	}
	return '_'
}

// sameSite returns the attribute of that name; the empty one leaves it to the browser.
func sameSite(name string) (http.SameSite, error) {
	switch strings.ToLower(name) {
	case "":
		return http.SameSiteDefaultMode, nil
	case "none":
		return http.SameSiteNoneMode, nil
	case "lax":
		return http.SameSiteLaxMode, nil
	case "strict":
		return http.SameSiteStrictMode, nil
	}
	return 0, errors.New("sticky.cookie.sameSite is none of none, lax and strict")
}

// check finds what would end a Set-Cookie field early, or make a browser refuse it.
func check(config *dynamic.Cookie) error {
	path := ""
	if config.Path != nil {
		path = *config.Path
	}
	for _, option := range []struct{ name, value string }{
		{"name", config.Name}, {"path", path}, {"domain", config.Domain},
	} {
		at := strings.IndexFunc(option.value, func(r rune) bool { return r < ' ' || r == 0x7f || r == ';' })
		if at >= 0 {
			return fmt.Errorf("sticky.cookie.%s %q holds %q, which no cookie can", option.name, option.value, option.value[at])
		}
	}
	if at := strings.IndexFunc(path, func(r rune) bool { return r > 0x7f }); at >= 0 {
		return fmt.Errorf("sticky.cookie.path %q holds more than ASCII: write it percent-encoded", path)
	}
	if config.Domain != "" && !isDomain(config.Domain) {
		return fmt.Errorf("sticky.cookie.domain %q is neither a host name nor an address", config.Domain)
	}
	return nil
}

// isDomain reports whether a text can be a cookie's domain, with or without a leading dot (RFC 6265 section
// 5.2.3).
func isDomain(text string) bool {
	if address, err := netip.ParseAddr(text); err == nil {
		return address.Is4() // Browsers do not support cookies for other addresses.
	}
	text = strings.TrimPrefix(text, ".")
	if len(text) > 255 || !strings.ContainsFunc(text, isLetter) {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if strings.ContainsFunc(label, func(r rune) bool { return r != '-' && !isLetter(r) && !isDigit(r) }) {
			return false
		}
	}
	return true
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

func isDigit(r rune) bool { return '0' <= r && r <= '9' }
