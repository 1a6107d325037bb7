package jwt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/sluiceproxy/sluice/telemetry"
)

// newTransport returns how a key set is fetched: each time on a connection of its own. HTTPS_PROXY and NO_PROXY count.
// A nil dial is a [net.Dialer].
func newTransport(
	secured *tls.Config, dial func(ctx context.Context, network, address string) (net.Conn, error),
) *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, DialContext: dial, TLSClientConfig: secured, ForceAttemptHTTP2: secured == nil,
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 64 << 10,
	}
}

// fetchFrom returns what fetches a key set: one GET, whose answer is the last one, also when it is a redirect.
func fetchFrom(location *url.URL, transport http.RoundTripper) func(ctx context.Context) ([]byte, error) {
	client := &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	target := location.String()
	return func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, http.NoBody)
		if err != nil {
			return nil, errors.New("the URL can't be requested")
		}
		request.Header.Set("Accept", "application/jwk-set+json, application/json")
		request.Header.Set("User-Agent", "sluice")
		answer, err := client.Do(request)
		if err != nil {
			return nil, plain(err)
		}
		defer answer.Body.Close() //nolint:errcheck // All that is wanted has been read.
		if answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the server answers %d", answer.StatusCode)
		}
		text, err := io.ReadAll(io.LimitReader(answer.Body, maxJWKS+1))
		if err != nil {
			return nil, plain(err)
		}
		return text, nil
	}
}

// maxError is how much of an error is logged, in bytes. A server may be able to put text into one.
const maxError = 200

// plain returns an error without the URL, whose query may be secret.
func plain(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	text := err.Error()
	return errors.New(text[:min(len(text), maxError)])
}

// reporter writes a line when the state of the keys changes.
type reporter struct {
	logger               telemetry.Logger
	middleware, location string
}

// changed says that the keys went from one state to another.
func (r reporter) changed(from, to state, err error) {
	switch {
	case from == to:
	case to == sound && from == waiting:
		r.logger.Debug("the key set has been fetched", "middleware", r.middleware, "url", r.location)
	case to == sound:
		r.logger.Info("the key set can be fetched again", "middleware", r.middleware, "url", r.location)
	case to == stale:
		r.logger.Warn("the key set can't be fetched, and the last one still counts", "middleware", r.middleware, "url",
			r.location, "error", err)
	case to == none:
		r.logger.Error("the key set can't be fetched, and requests are refused", "middleware", r.middleware, "url",
			r.location, "error", err)
	}
}

// ignored says what of a set is not used.
func (r reporter) ignored(lines []string) {
	if len(lines) > 0 {
		more := max(0, len(lines)-5)
		r.logger.Warn("keys of the set are not used", "middleware", r.middleware, "url", r.location, "keys",
			lines[:len(lines)-more], "more", more)
	}
}
