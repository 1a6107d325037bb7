package authrequest

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
	"github.com/sluiceproxy/sluice/middleware/source"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// settings are the options of one authRequest, checked.
type settings struct {
	// server is the URL without path and query, and fixed the whole one if it has no variables. Otherwise target is its
	// path and query.
	server, fixed *url.URL
	target        variable.Template
	method        string
	// headers are sent in place of the client's, host in place of the server's; names are those of the headers.
	headers []header
	names   []string
	host    variable.Template
	// granted are the names of headers of the answer that a request goes on with.
	granted []string
	signIn  variable.Template
	signsIn bool
	// alwaysSetsCookie adds cookies to responses of every status.
	alwaysSetsCookie bool
	// keeps is set when answers are kept by key, as long as durations say.
	keeps     bool
	key       variable.Template
	durations durations
	client    source.Address
}

// header is sent to the server; an empty value removes it.
type header struct {
	name  string
	value variable.Template
}

// newSettings checks the options. An error begins with the option, and holds no part of the URL.
func newSettings(config *dynamic.AuthRequest) (*settings, error) {
	s := &settings{method: http.MethodGet, alwaysSetsCookie: config.AlwaysSetCookie}
	for _, check := range []func(*dynamic.AuthRequest) error{
		s.setURL, s.setMethod, s.setHeaders, s.setSignIn, s.setCache,
	} {
		if err := check(config); err != nil {
			return nil, err
		}
	}
	var err error
	if s.client, err = source.NewAddress("authRequest.ipStrategy", config.IPStrategy); err != nil {
		return nil, err
	}
	s.granted, err = authorize.SettableNames("authRequest.responseHeaders", config.ResponseHeaders)
	return s, err
}

func (s *settings) setURL(config *dynamic.AuthRequest) error {
	const option = "authRequest.url"
	if config.URL == "" {
		return errors.New(option + " is empty")
	}
	scheme, rest, _ := strings.Cut(config.URL, "://")
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	if strings.Contains(scheme+rest[:end], "$") {
		return errors.New(option + " has a variable before its path; which server decides must not depend on the client")
	}
	target := rest[end:]
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	server, err := url.Parse(scheme + "://" + rest[:end])
	if err != nil {
		return errors.New(option + " is not a URL")
	}
	if err := authorize.CheckURL(server); err != nil {
		return fmt.Errorf("%s %w", option, err)
	}
	if server.User != nil {
		return errors.New(option + " has credentials; send them in authRequest.headers")
	}
	s.server = server
	if s.target, err = variable.ParseLive(target); err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	if text, constant := s.target.Constant(); constant {
		if s.fixed, err = url.Parse(server.String() + text); err != nil {
			return errors.New(option + " is not a URL")
		}
		if err := authorize.CheckURL(s.fixed); err != nil {
			return fmt.Errorf("%s %w", option, err)
		}
	}
	return nil
}

func (s *settings) setMethod(config *dynamic.AuthRequest) error {
	switch {
	case config.Method == "":
		return nil
	case !headerlist.ValidName(config.Method) || config.Method == http.MethodConnect:
		return fmt.Errorf("authRequest.method %q is not a method that can be sent", config.Method)
	}
	s.method = config.Method
	return nil
}

// usual are the headers that ingress-nginx sends, and withMethod those that it adds where the method is set. Their
// names are in net/http's canonical spelling.
func usual(withMethod bool) [][2]string {
	headers := [][2]string{
		{"X-Original-Url", "$scheme://$http_host$request_uri"},
		{"X-Original-Method", "$request_method"},
		{"X-Sent-From", "nginx-ingress-controller"},
		{forwarded.XRealIP, "$remote_addr"},
		{forwarded.XForwardedFor, "$remote_addr"},
		{"X-Auth-Request-Redirect", "$request_uri"},
		{forwarded.XForwardedProto, ""},
		{"X-Request-Id", "$req_id"},
	}
	if withMethod {
		headers = append(headers, [2]string{"X-Original-Uri", "$request_uri"}, [2]string{"X-Scheme", "$scheme"})
	}
	return headers
}

func (s *settings) setHeaders(config *dynamic.AuthRequest) error {
	for _, one := range usual(config.Method != "") {
		if err := s.setHeader(one[0], one[1]); err != nil {
			return err
		}
	}
	for _, one := range config.Headers {
		names, err := authorize.HeaderNames("authRequest.headers", []string{one.Name})
		if err != nil {
			return err
		}
		if name := names[0]; name != "Host" && forwarded.FramesAs(name) {
			return fmt.Errorf("authRequest.headers: %s frames a message or concerns one connection, and can't be set", name)
		}
		if err := s.setHeader(names[0], one.Value); err != nil {
			return err
		}
	}
	return nil
}

// setHeader sets a header in place of an earlier one.
func (s *settings) setHeader(name, value string) error {
	template, err := variable.ParseLive(value)
	if err != nil {
		return fmt.Errorf("authRequest.headers: %s: %w", name, err)
	}
	if name == "Host" {
		s.host = template
		return nil
	}
	for i := range s.headers {
		if s.headers[i].name == name {
			s.headers[i].value = template
			return nil
		}
	}
	s.headers, s.names = append(s.headers, header{name, template}), append(s.names, name)
	return nil
}

// setSignIn completes the URL with the parameter, as ingress-nginx does. A path is made absolute.
func (s *settings) setSignIn(config *dynamic.AuthRequest) error {
	const option = "authRequest.signinURL"
	text := config.SigninURL
	if text == "" {
		return nil
	}
	parsed, err := url.Parse(text)
	if err != nil || !httpguts.ValidHeaderFieldValue(text) || strings.ContainsAny(text, " \t") {
		return errors.New(option + " is not a URL")
	}
	if parsed.Scheme == "" && strings.HasPrefix(text, "/") {
		text = "$scheme://$host" + text
	}
	parameter := config.SigninRedirectParam
	if parameter == "" {
		parameter = "rd"
	}
	if strings.Trim(parameter, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") != "" {
		return fmt.Errorf("authRequest.signinRedirectParam %q is not the name of a parameter", parameter)
	}
	query := parsed.Query()
	if query.Get(parameter) == "" {
		separator := "?"
		if len(query) > 0 {
			separator = "&"
		}
		text += separator + parameter + "=$pass_access_scheme://$http_host$escaped_request_uri"
	}
	if s.signIn, err = variable.ParseLive(text); err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	s.signsIn = true
	return nil
}

func (s *settings) setCache(config *dynamic.AuthRequest) error {
	var err error
	if s.durations, err = parseDurations(config.CacheDuration); err != nil || config.CacheKey == "" {
		return err
	}
	s.keeps = true
	if s.key, err = variable.ParseLive(config.CacheKey); err != nil {
		return fmt.Errorf("authRequest.cacheKey: %w", err)
	}
	return nil
}
