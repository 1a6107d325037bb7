package sticky

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Cookie is the sticky cookie of one service. It is immutable and compared with ==. The zero value has no name
// and matches no cookie.
type Cookie struct {
	name string
	// scope is what follows the value in a Set-Cookie field, and before what depends on the response; limits what
	// follows Expires.
	scope, limits string
	// secure, sameSite and partitioned are the attributes of these names, empty without.
	secure, sameSite, partitioned string
	// expires is the lifetime for the attribute Expires; 0 sets none.
	expires time.Duration
	// byScheme adds Secure in responses over TLS, conditional leaves SameSite out for browsers that refuse it.
	byScheme, conditional bool
	// balanced hashes values over the servers, keeps tries failed requests again with the same server.
	balanced, keeps bool
	// readOnly sets no cookie.
	readOnly bool
}

// maxExpires bounds the lifetime in seconds: 400 years, which keeps years at four digits.
const maxExpires = 400 * 365 * 24 * 60 * 60

// New returns the cookie of a service (its qualified name) with the options of sticky.cookie. The default name
// is _ and five hexadecimal digits derived from the service's name; characters that a cookie name may not
// contain become _, as in Traefik. The path defaults to /; an empty path sets none. maxAge is in seconds: 0 is
// a session cookie, negative deletes the cookie. A nil config has no options.
//
// It is an error when name, path or domain hold a control character or a semicolon, when a domain is no host name or
// address, when sameSite is none of none, lax and strict in any case, when mode is neither persistent nor balanced, and
// when conditionalSameSiteNone is set without the SameSite none.
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
	attributes := func(field http.Cookie) string {
		field.Name = name
		return strings.TrimPrefix(field.String(), name+"=")
	}
	c := Cookie{
		name:    name,
		scope:   attributes(http.Cookie{Path: path, Domain: config.Domain}),
		limits:  attributes(http.Cookie{MaxAge: config.MaxAge, HttpOnly: config.HTTPOnly}),
		expires: time.Duration(config.Expires) * time.Second, byScheme: config.SecureByScheme && !config.Secure,
		sameSite: attributes(http.Cookie{SameSite: mode}), conditional: config.ConditionalSameSiteNone,
		balanced: config.Mode == dynamic.CookieBalanced,
		keeps:    config.ChangeOnFailure != nil && !*config.ChangeOnFailure, readOnly: config.ReadOnly,
	}
	if config.Secure {
		c.secure = secure
	}
	if config.Partitioned {
		c.partitioned = "; Partitioned"
	}
	return c, nil
}

// secure is the attribute Secure.
const secure = "; Secure"

// Name returns the cookie's name.
func (c *Cookie) Name() string { return c.name }

// Balanced reports whether values are hashed over the servers (mode balanced).
func (c *Cookie) Balanced() bool { return c.balanced }

// Keeps reports whether a request that has failed is tried again with the same server (changeOnFailure set to false).
func (c *Cookie) Keeps() bool { return c.keeps }

// Set returns the value of the Set-Cookie field that keeps the client with the server of an ID, for the response to a
// request; empty for none, with the option readOnly.
func (c *Cookie) Set(id string, r *http.Request) string {
	if c.readOnly {
		return ""
	}
	expires, secured, site := "", c.secure, c.sameSite
	if c.expires != 0 {
		expires = "; Expires=" + time.Now().Add(c.expires).UTC().Format(http.TimeFormat)
	}
	if c.byScheme && r.TLS != nil {
		secured = secure
	}
	if c.conditional && refusesNone(r.UserAgent()) {
		site = ""
	}
	return c.name + "=" + id + c.scope + expires + c.limits + secured + site + c.partitioned
}

// refusesNone reports whether a browser is one of those that refuse cookies with the SameSite none: Chrome 40 to 69,
// and those of iOS 12 and of macOS 10.14.
func refusesNone(agent string) bool {
	for _, part := range []string{"Chrome/4", "Chrome/5", "Chrome/6", "CPU iPhone OS 12", "iPad; CPU OS 12"} {
		if strings.Contains(agent, part) {
			return true
		}
	}
	return strings.Contains(agent, "Macintosh") && strings.Contains(agent, "Intel Mac OS X 10_14") &&
		strings.Contains(agent, "Safari") && !strings.Contains(agent, "Chrome")
}

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
	switch {
	case config.Domain != "" && !isDomain(config.Domain):
		return fmt.Errorf("sticky.cookie.domain %q is neither a host name nor an address", config.Domain)
	case config.Mode != "" && config.Mode != dynamic.CookiePersistent && config.Mode != dynamic.CookieBalanced:
		return fmt.Errorf("sticky.cookie.mode %q is neither persistent nor balanced", config.Mode)
	case config.ConditionalSameSiteNone && !strings.EqualFold(config.SameSite, "none"):
		return errors.New("sticky.cookie.conditionalSameSiteNone needs the sameSite none")
	case config.Expires < -maxExpires || config.Expires > maxExpires:
		return fmt.Errorf("sticky.cookie.expires %d is not from %d to %d", config.Expires, -maxExpires, maxExpires)
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
