// Package source identifies the source of a request for middlewares that limit requests (the option sourceCriterion). A
// [Key] is independent of the spelling of a host or address.
package source

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
)

// Criterion is what distinguishes sources.
type Criterion int

const (
	// ClientAddress groups requests by the address of the client (ipStrategy).
	ClientAddress Criterion = iota
	// RequestHeader groups them by the value of a header (requestHeaderName).
	RequestHeader
	// RequestHost groups them by the requested host (requestHost).
	RequestHost
)

// Source returns the keys of requests. It is immutable.
type Source struct {
	criterion Criterion
	client    forwarded.ClientStrategy
	header    string
}

// New validates a sourceCriterion, whose three kinds are exclusive. If it is nil or empty, fallback is used, which is
// not RequestHeader. An error begins with the option as in files, such as "rateLimit.sourceCriterion".
func New(option string, config *dynamic.SourceCriterion, fallback Criterion) (*Source, error) {
	if config == nil {
		return &Source{criterion: fallback}, nil
	}
	if kinds := kindsOf(config); len(kinds) > 1 {
		return nil, fmt.Errorf("%s sets %s, but only one of ipStrategy, requestHeaderName, requestHost can be set", option,
			strings.Join(kinds, " and "))
	}
	switch {
	case config.IPStrategy != nil:
		strategy, err := Client(config.IPStrategy)
		if err != nil {
			return nil, fmt.Errorf("%s.ipStrategy.%w", option, err)
		}
		return &Source{criterion: ClientAddress, client: strategy}, nil
	case config.RequestHost, strings.EqualFold(config.RequestHeaderName, "Host"):
		return &Source{criterion: RequestHost}, nil
	case config.RequestHeaderName != "":
		if err := checkName(config.RequestHeaderName); err != nil {
			return nil, fmt.Errorf("%s.requestHeaderName %q %w", option, config.RequestHeaderName, err)
		}
		return &Source{criterion: RequestHeader, header: http.CanonicalHeaderKey(config.RequestHeaderName)}, nil
	}
	return &Source{criterion: fallback}, nil
}

// Client returns the strategy of an ipStrategy, in which depth, excludedIPs and trustedIPs are three ways to find the
// client. The error begins with the name of the option that is wrong.
func Client(config *dynamic.IPStrategy) (forwarded.ClientStrategy, error) {
	if len(config.TrustedIPs) == 0 {
		return forwarded.NewClientStrategy(config.Depth, config.ExcludedIPs, config.IPv6Subnet)
	}
	if config.Depth != 0 || len(config.ExcludedIPs) > 0 {
		return forwarded.ClientStrategy{}, errors.New("trustedIPs is set beside depth or excludedIPs, of which one is " +
			"possible")
	}
	return forwarded.NewTrustingStrategy(config.TrustedIPs, config.IPv6Subnet)
}

func kindsOf(config *dynamic.SourceCriterion) []string {
	var kinds []string
	if config.IPStrategy != nil {
		kinds = append(kinds, "ipStrategy")
	}
	if config.RequestHeaderName != "" {
		kinds = append(kinds, "requestHeaderName")
	}
	if config.RequestHost {
		kinds = append(kinds, "requestHost")
	}
	return kinds
}

// checkName refuses an invalid header name (RFC 9110 section 5.6.2).
func checkName(name string) error {
	for _, c := range []byte(name) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return errors.New("is not the name of a header")
		}
	}
	return nil
}

// Key returns the key of a request. ok is false, and the key zero, if there is none: the client's address is unknown,
// the header is missing or empty, or the host is invalid. Such requests are one common source.
//
// Of several lines of a header the first counts. The text aliases the request's memory, so tables must store the Hash
// of a key or its String.
func (s *Source) Key(r *http.Request) (key Key, ok bool) {
	switch s.criterion {
	case RequestHeader:
		if values := r.Header[s.header]; len(values) > 0 {
			key.Text = short(values[0])
		}
		return key, key.Text != ""
	case RequestHost:
		host, ok := canonical.Host(r.Host)
		if ok {
			key.Text = short(host)
		}
		return key, ok
	default:
		key.Addr, ok = s.client.Client(r)
		return key, ok
	}
}
