package service

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer/sticky"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
	"github.com/sluiceproxy/sluice/nginx/pcre"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// CanaryOptions are the options of a canary service.
type CanaryOptions struct {
	// Main answers normally, Canary gets a part of the requests.
	Main, Canary Child
	// Config has the rules.
	Config *dynamic.Canary
	// Cookie makes the service sticky; without a name it is not.
	Cookie sticky.Cookie
	// MainCookies are the names of the sticky cookies of Main and the services below it. Where the service is sticky, a
	// client that has one of them and no Cookie stays with Main: it was there before there was a canary.
	MainCookies []string
}

// Canary hands a part of the requests to a second service, by the rules of ingress-nginx: a sticky client goes where
// its cookie says; then the header decides, then the cookie of that purpose, and last the weight. While one of the two
// is down, the main service gets all requests, also those of clients that the canary keeps.
type Canary struct {
	options CanaryOptions
	// header and cookie are the names of what decides, empty without; pattern is that of the header's values, or nil.
	header, cookie string
	pattern        *pcre.Regexp
	total          int
	// main and canary are the values of the sticky cookie.
	main, canary string
}

// leastTotal is the least weightTotal, which ingress-nginx takes for a lower one too.
const leastTotal = 100

// The values of a header or cookie that decide.
const (
	always = "always"
	never  = "never"
)

// NewCanary returns the handler of a canary service. The weight is from 0 to weightTotal, which is at least 100 (0 is
// 100); header and cookie are tokens, and headerPattern is an expression that pcre can translate. An error names the
// option.
func NewCanary(options CanaryOptions) (*Canary, error) {
	config := options.Config
	c := &Canary{
		options: options, header: http.CanonicalHeaderKey(config.Header), cookie: config.Cookie, total: config.WeightTotal,
		main: sticky.ID(options.Main.Name), canary: sticky.ID(options.Canary.Name),
	}
	if c.total == 0 {
		c.total = leastTotal
	}
	switch {
	case c.main == c.canary:
		return nil, errors.New("canary.canary is the same service as canary.service")
	case c.total < leastTotal:
		return nil, fmt.Errorf("canary.weightTotal %d is less than %d", c.total, leastTotal)
	case config.Weight < 0 || config.Weight > c.total:
		return nil, fmt.Errorf("canary.weight %d is not from 0 to %d", config.Weight, c.total)
	case config.Header != "" && !headerlist.ValidName(config.Header):
		return nil, fmt.Errorf("canary.header %q is not a header name", config.Header)
	case config.Header == "" && config.HeaderValue+config.HeaderPattern != "":
		return nil, errors.New("canary.headerValue and canary.headerPattern need canary.header")
	case config.HeaderValue != "" && config.HeaderPattern != "":
		return nil, errors.New("canary.headerValue and canary.headerPattern exclude one another")
	case config.Cookie != "" && !headerlist.ValidName(config.Cookie):
		return nil, fmt.Errorf("canary.cookie %q can't be the name of a cookie", config.Cookie)
	case config.StickyService && options.Cookie.Name() == "":
		return nil, errors.New("canary.stickyService needs canary.sticky.cookie")
	}
	if config.HeaderPattern != "" {
		var err error
		if c.pattern, err = pcre.Compile(config.HeaderPattern, 0); err != nil {
			return nil, fmt.Errorf("canary.headerPattern: %w", err)
		}
	}
	return c, nil
}

// Up reports whether the main service is up.
func (c *Canary) Up() bool { return c.options.Main.up() }

// ServeHTTP hands the request on.
func (c *Canary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	canary, kept := c.keeper(r)
	switch {
	case !c.options.Canary.up() || !c.options.Main.up():
		canary = false
	case !kept:
		canary = c.decide(r)
	}
	child, value := &c.options.Main, c.main
	if canary {
		child, value = &c.options.Canary, c.canary
	}
	if c.options.Cookie.Name() != "" && !kept && (!canary || !c.options.Config.StickyService) {
		addCookie(w.Header(), c.options.Cookie.Set(value, r))
	}
	child.Handler.ServeHTTP(w, r)
}

// keeper returns whether the client's sticky cookie is that of the canary, and whether a cookie keeps the client.
func (c *Canary) keeper(r *http.Request) (canary, kept bool) {
	if c.options.Cookie.Name() == "" {
		return false, false
	}
	placed := false
	for value := range c.options.Cookie.Values(r) {
		placed = true
		switch {
		case value == c.main:
			return false, true
		case value == c.canary && !c.options.Config.StickyService:
			return true, true
		}
	}
	return false, !placed && slices.ContainsFunc(c.options.MainCookies, func(name string) bool {
		return variable.CookieOf(r.Header["Cookie"], name) != ""
	})
}

// decide reports whether the canary gets a request by the rules.
func (c *Canary) decide(r *http.Request) bool {
	if c.header != "" {
		if canary, decided := c.byHeader(r); decided {
			return canary
		}
	}
	if c.cookie != "" {
		if canary, decided := byWord(variable.CookieOf(r.Header["Cookie"], c.cookie)); decided {
			return canary
		}
	}
	weight := c.options.Config.Weight
	return weight > 0 && rand.IntN(c.total) < weight
}

// byHeader reports whether the canary gets a request by its header, and whether that decides.
func (c *Canary) byHeader(r *http.Request) (canary, decided bool) {
	value := r.Host
	if c.header != "Host" {
		values := r.Header[c.header]
		if len(values) == 0 {
			return false, false
		}
		if value = values[0]; len(values) > 1 {
			value = strings.Join(values, ", ")
		}
	}
	switch {
	case c.options.Config.HeaderValue != "":
		matches := value == c.options.Config.HeaderValue
		return matches, matches
	case c.pattern != nil:
		matches := c.pattern.Match(value)
		return matches, matches
	}
	return byWord(value)
}

// byWord reads the value of a header or cookie without a value or pattern of its own.
func byWord(value string) (canary, decided bool) {
	return value == always, value == always || value == never
}
