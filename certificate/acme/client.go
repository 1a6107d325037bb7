package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/static"
)

// Directories of Let's Encrypt.
const (
	letsEncrypt        = "https://acme-v02.api.letsencrypt.org/directory"
	letsEncryptStaging = "https://acme-staging-v02.api.letsencrypt.org/directory"
)

// directoryOf returns the directory of an authority; those of the first version of ACME, which has ended, stand for
// those of the second one, as in Traefik.
func directoryOf(caServer string) string {
	switch {
	case strings.HasPrefix(caServer, "https://acme-v01.api.letsencrypt.org"):
		return letsEncrypt
	case strings.HasPrefix(caServer, "https://acme-staging.api.letsencrypt.org"):
		return letsEncryptStaging
	}
	return caServer
}

// stagingOf returns the directory at which orders are tried after a failure; empty if there is none.
func stagingOf(config *static.ACME) string {
	if config.StagingCAServer != "" {
		return config.StagingCAServer
	}
	if directoryOf(config.CAServer) == letsEncrypt {
		return letsEncryptStaging
	}
	return ""
}

// newHTTPClient returns the client for an authority. transport takes the place of the network in tests.
func newHTTPClient(config *static.ACME, transport http.RoundTripper) (*http.Client, error) {
	if config.ClientTimeout < config.ClientResponseHeaderTimeout {
		return nil, fmt.Errorf("clientTimeout (%v) is shorter than clientResponseHeaderTimeout (%v)",
			time.Duration(config.ClientTimeout), time.Duration(config.ClientResponseHeaderTimeout))
	}
	if transport != nil {
		return &http.Client{Transport: transport, Timeout: time.Duration(config.ClientTimeout)}, nil
	}
	pool, err := authorityPool(config)
	if err != nil {
		return nil, err
	}
	name := config.CAServerName
	if name == "" {
		name = os.Getenv("LEGO_CA_SERVER_NAME")
	}
	return &http.Client{
		Timeout: time.Duration(config.ClientTimeout),
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   30 * time.Second,
			ResponseHeaderTimeout: time.Duration(config.ClientResponseHeaderTimeout),
			ExpectContinueTimeout: time.Second,
			IdleConnTimeout:       time.Minute,
			ForceAttemptHTTP2:     true,
			TLSClientConfig:       &tls.Config{RootCAs: pool, ServerName: name, MinVersion: tls.VersionTLS12},
		},
	}, nil
}

// authorityPool returns the certificates by which the authority's server is verified: caCertificates and
// caSystemCertPool, or else LEGO_CA_CERTIFICATES and LEGO_CA_SYSTEM_CERT_POOL of the environment, as in Traefik. Nil
// means those of the system.
func authorityPool(config *static.ACME) (*x509.CertPool, error) {
	files, system := config.CACertificates, config.CASystemCertPool
	if len(files) == 0 && !system {
		if list := os.Getenv("LEGO_CA_CERTIFICATES"); list != "" {
			files = strings.Split(list, string(os.PathListSeparator))
		}
		system, _ = strconv.ParseBool(os.Getenv("LEGO_CA_SYSTEM_CERT_POOL"))
	}
	if len(files) == 0 {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if system {
		var err error
		if pool, err = x509.SystemCertPool(); err != nil {
			return nil, fmt.Errorf("caSystemCertPool: %w", err)
		}
	}
	for i, file := range files {
		option := fmt.Sprintf("caCertificates[%d]", i)
		text, err := document.ReadPEM(option, file)
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s: %s: no certificate found", option, document.DescribePEM(file))
		}
	}
	return pool, nil
}

// retryAfter is a RoundTripper that notes the header Retry-After of refusals (RFC 8555, section 6.6) for the order
// that a request belongs to.
type retryAfter struct{ next http.RoundTripper }

// longestRetryAfter bounds the header Retry-After.
const longestRetryAfter = 7 * 24 * time.Hour

// retryAfterKey is the context key of an *atomic.Int64, a time in nanoseconds.
type retryAfterKey struct{}

// noteRetryAfter returns a context for the requests of an order, and what returns until when the authority wants no
// more of them; the zero time if it has not said so.
func noteRetryAfter(ctx context.Context) (context.Context, func() time.Time) {
	noted := &atomic.Int64{}
	return context.WithValue(ctx, retryAfterKey{}, noted), func() time.Time {
		if until := noted.Load(); until != 0 {
			return time.Unix(0, until)
		}
		return time.Time{}
	}
}

// RoundTrip sends a request.
func (r *retryAfter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	noted, _ := request.Context().Value(retryAfterKey{}).(*atomic.Int64)
	refused := response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable
	if now := time.Now(); refused && noted != nil {
		until := parseRetryAfter(response.Header.Get("Retry-After"), now)
		if latest := now.Add(longestRetryAfter); until.After(latest) {
			until = latest
		}
		if !until.IsZero() {
			noted.Store(until.UnixNano())
		}
	}
	return response, nil
}

// parseRetryAfter reads the header Retry-After (RFC 9110, section 10.2.3); a value that is none is the zero time.
func parseRetryAfter(value string, now time.Time) time.Time {
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return now.Add(time.Duration(seconds) * time.Second)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return time.Time{}
	}
	return at
}

// problemType returns the type of a problem document without its namespace.
func problemType(problem acme.Problem) string {
	return strings.TrimPrefix(problem.Type, acme.ProblemTypeNamespace)
}

// isProblem reports whether an error is a problem document of one of some types.
func isProblem(err error, types ...string) bool {
	var problem acme.Problem
	if !errors.As(err, &problem) {
		return false
	}
	for _, name := range types {
		if problem.Type == name {
			return true
		}
	}
	return false
}

// blamesAuthority reports whether an error says nothing about the names of an order: the authority is not reachable,
// or refuses the account.
func blamesAuthority(err error) bool {
	var account *accountError
	if errors.As(err, &account) {
		return true
	}
	var problem acme.Problem
	if !errors.As(err, &problem) {
		var local *localError
		var transport *url.Error
		return errors.As(err, &transport) && !errors.As(err, &local) && !errors.Is(err, context.Canceled)
	}
	switch problem.Type {
	case acme.ProblemTypeServerInternal, acme.ProblemTypeAccountDoesNotExist, acme.ProblemTypeBadNonce,
		acme.ProblemTypeExternalAccountRequired, acme.ProblemTypeUserActionRequired, acme.ProblemTypeBadPublicKey,
		acme.ProblemTypeBadSignatureAlgorithm, acme.ProblemTypeInvalidContact, acme.ProblemTypeUnsupportedContact:
		return true
	}
	return problem.Status >= http.StatusInternalServerError
}

// accountError is an error of the account, without which nothing can be ordered.
type accountError struct{ err error }

// Error returns the text.
func (e *accountError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *accountError) Unwrap() error { return e.err }

// stagingError is an error of an order at the staging directory.
type stagingError struct{ err error }

// Error returns the text.
func (e *stagingError) Error() string { return "staging: " + e.err.Error() }

// Unwrap returns the cause.
func (e *stagingError) Unwrap() error { return e.err }

// localError is an error of what Sluice does for an order, such as a DNS provider that fails.
type localError struct{ err error }

// Error returns the text.
func (e *localError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *localError) Unwrap() error { return e.err }

// newClient returns the client of a directory.
func newClient(config *static.ACME, directory string, client *http.Client) *acme.Client {
	return &acme.Client{
		Directory:   directory,
		HTTPClient:  client,
		UserAgent:   "sluice",
		PollTimeout: time.Duration(config.CertificateTimeout),
		Logger:      slog.New(slog.DiscardHandler), // Headers and URLs of orders are in its lines.
	}
}
