package jwt

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
)

// How often a key set may be fetched. A removed key counts for a day at most.
const (
	defaultRefresh = time.Hour
	minRefresh     = minInterval
	maxRefresh     = 24 * time.Hour
)

// newRemote checks the options of a key set that is fetched.
func newRemote(name string, config dynamic.JWT, options Options, allowed []jose.SignatureAlgorithm) (*remote, error) {
	location, err := newLocation(config.JwksURL)
	if err != nil {
		return nil, err
	}
	every := time.Duration(config.RefreshInterval)
	if every == 0 {
		every = defaultRefresh
	}
	if every < minRefresh || every > maxRefresh {
		return nil, fmt.Errorf("jwt.refreshInterval %v is not between %v and %v", every, minRefresh, maxRefresh)
	}
	var secured *tls.Config
	if config.TLS != nil {
		if location.Scheme != "https" {
			return nil, errors.New("jwt.tls is set, and jwt.jwksUrl is not https")
		}
		if secured, err = clienttls.New("jwt.tls", clienttls.OptionsOf(config.TLS), options.ReadFile); err != nil {
			return nil, err
		}
	}
	return startless(fetchFrom(location, newTransport(secured, options.Dial)), allowed, every, reporter{
		logger: options.Logger, middleware: name, location: location.Scheme + "://" + location.Host + location.EscapedPath(),
	}), nil
}

// newLocation checks the option jwksUrl. The error does not hold its value, which may have a password or a token in it.
func newLocation(text string) (*url.URL, error) {
	location, err := url.Parse(text)
	switch {
	case err != nil || location.Host == "" || location.Hostname() == "":
		return nil, errors.New("jwt.jwksUrl is no absolute URL")
	case location.User != nil:
		return nil, errors.New("jwt.jwksUrl has a user, which is not taken")
	case location.Scheme == "https", location.Scheme == "http" && isLoopback(location.Hostname()):
		return location, nil
	}
	return nil, errors.New("jwt.jwksUrl is not https; http is taken for a loopback address only, as others on the " +
		"network could put in keys")
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.IsLoopback()
}
