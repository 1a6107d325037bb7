package forwardauth

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

// settings are the options of one forwardAuth, checked.
type settings struct {
	address address
	// shown are the names of the headers that the authentication server is shown; nil shows all.
	shown    []string
	trust    trust
	identity identity
	cookies  cookies
	// userField is the header of the answer that names the user, for the access log and the service.
	userField string
	// forwardBody says that bodies are shown, too; maxBody and maxAnswer are in bytes, and negative where there is no
	// limit.
	forwardBody        bool
	maxBody, maxAnswer int64
	keepLocation       bool
	keepMethod         bool
	signIn             string
}

// trust is the option trustForwardHeader, of which not being set is the third value.
type trust int

const (
	// legacy has what the five best known X-Forwarded headers say replaced by what is known here, and shows the
	// others as they are.
	legacy trust = iota
	// distrust shows none of them but those that are made here.
	distrust
	// believe makes only those that are missing.
	believe
)

// address is where the authentication server is.
type address struct {
	url *url.URL
	// authorization is what credentials in the address make; a client's own goes before. What is behind a pointer is
	// not printed.
	authorization *string
}

// newSettings checks the options. An error begins with the option, and holds neither the address nor a URL, which may
// hold a password.
func newSettings(config *dynamic.ForwardAuth) (*settings, error) {
	s := &settings{
		forwardBody: config.ForwardBody, keepLocation: config.PreserveLocationHeader,
		keepMethod: config.PreserveRequestMethod,
		signIn:     config.AuthSigninURL, maxBody: -1, maxAnswer: -1,
	}
	if config.TrustForwardHeader != nil {
		s.trust = distrust
		if *config.TrustForwardHeader {
			s.trust = believe
		}
	}
	for _, check := range []func(*dynamic.ForwardAuth) error{
		s.setAddress, s.setHeaders, s.setCookies, s.setSizes, s.checkSignIn,
	} {
		if err := check(config); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *settings) setAddress(config *dynamic.ForwardAuth) error {
	const option = "forwardAuth.address"
	if config.Address == "" {
		return errors.New(option + " is empty")
	}
	parsed, err := url.Parse(config.Address)
	if err != nil {
		return errors.New(option + " is not a URL")
	}
	if err := authorize.CheckURL(parsed); err != nil {
		return fmt.Errorf("%s %w", option, err)
	}
	if user := parsed.User; user != nil {
		password, _ := user.Password()
		authorization := "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
		s.address.authorization = &authorization
	}
	parsed.User, parsed.Fragment, parsed.RawFragment = nil, "", ""
	s.address.url = parsed
	return nil
}

func (s *settings) setHeaders(config *dynamic.ForwardAuth) error {
	var err error
	if s.shown, err = authorize.HeaderNames("forwardAuth.authRequestHeaders", config.AuthRequestHeaders); err != nil {
		return err
	}
	if s.identity, err = newIdentity(config); err != nil {
		return err
	}
	if config.HeaderField == "" {
		return nil
	}
	names, err := authorize.SettableNames("forwardAuth.headerField", []string{config.HeaderField})
	if err != nil {
		return err
	}
	s.userField = names[0]
	// The name of a user in the log and at the service must be the same.
	s.identity.names = append(s.identity.names, s.userField)
	return nil
}

func (s *settings) setCookies(config *dynamic.ForwardAuth) error {
	for _, name := range config.AddAuthCookiesToResponse {
		name = strings.TrimSpace(name)
		if !httpguts.ValidHeaderFieldName(name) { // The names of both are tokens (RFC 6265 section 4.1.1).
			return fmt.Errorf("forwardAuth.addAuthCookiesToResponse: %q is no name of a cookie", name)
		}
		s.cookies = append(s.cookies, name)
	}
	return nil
}

func (s *settings) setSizes(config *dynamic.ForwardAuth) error {
	if err := setSize("forwardAuth.maxBodySize", config.MaxBodySize, &s.maxBody); err != nil {
		return err
	}
	return setSize("forwardAuth.maxResponseBodySize", config.MaxResponseBodySize, &s.maxAnswer)
}

func setSize(option string, value, into *int64) error {
	switch {
	case value == nil:
	case *value < -1:
		return fmt.Errorf("%s %d is less than -1, which stands for no limit", option, *value)
	default:
		*into = *value
	}
	return nil
}

// checkSignIn demands a URL to which a client can be sent.
func (s *settings) checkSignIn(config *dynamic.ForwardAuth) error {
	const option = "forwardAuth.authSigninURL"
	if s.signIn == "" {
		return nil
	}
	parsed, err := url.Parse(config.AuthSigninURL)
	if err != nil || strings.ContainsAny(s.signIn, " \t") {
		return errors.New(option + " is not a URL")
	}
	if parsed.Scheme == "" && parsed.Host == "" && parsed.Path != "" {
		return nil // It is resolved against the URL of the client's request.
	}
	if err := authorize.CheckURL(parsed); err != nil {
		return fmt.Errorf("%s %w", option, err)
	}
	return nil
}

// warnings says what has no effect, and what has no bound.
func warnings(config *dynamic.ForwardAuth, s *settings) []string {
	var found []string
	if config.TLS != nil && config.TLS.CAOptional != nil {
		found = append(found, "forwardAuth.tls.caOptional is deprecated and has no effect")
	}
	if config.TLS != nil && s.address.url.Scheme == "http" {
		found = append(found, "forwardAuth.tls has no effect, since forwardAuth.address begins with http://")
	}
	if s.maxBody >= 0 && !s.forwardBody {
		found = append(found, "forwardAuth.maxBodySize has no effect without forwardAuth.forwardBody")
	}
	if s.maxBody < 0 && s.forwardBody {
		found = append(found, "forwardAuth.maxBodySize is not set: bodies of any size are kept in memory")
	}
	return slices.Clip(found)
}
