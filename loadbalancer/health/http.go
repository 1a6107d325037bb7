package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	// maxRedirects is the maximum number of redirects, as in net/http.
	maxRedirects = 10
	// patience is how long a check waits for the end of an unused body.
	patience = 100 * time.Millisecond
)

var errLocation = errors.New("a redirect whose Location can't be read")

// askHTTP runs a check in mode http.
func (c *Check) askHTTP(ctx context.Context, client Client, where location) answer {
	at, err := reference(where.path, c.path)
	if err != nil {
		return answer{reason: "the server's path " + err.Error()}
	}
	method := c.method
	for hops := 0; ; hops++ {
		// The query may hold a secret.
		asked := method + " " + printable(at.EscapedPath())
		response, err := head(client, c.request(ctx, method, &where, at))
		if err != nil {
			return c.failure(ctx, err).about(asked)
		}
		next, err := c.redirect(response, &where, at)
		switch {
		case err != nil:
			return answer{reason: err.Error()}.about(asked)
		case next == nil:
			return c.evaluate(response.StatusCode).about(asked)
		case hops == maxRedirects:
			return answer{reason: fmt.Sprintf("more than %d redirects", maxRedirects)}.about(asked)
		}
		method, at = redirected(method, response.StatusCode), next
	}
}

// about prefixes a reason with the request, if there was one.
func (a answer) about(asked string) answer {
	if !strings.HasPrefix(a.reason, "connect: ") {
		a.reason = asked + ": " + a.reason
	}
	return a
}

// evaluate returns the result for a status.
func (c *Check) evaluate(status int) answer {
	up, reason := status >= 200 && status < 400, fmt.Sprintf("status %d", status)
	if c.status != 0 {
		if up = status == int(c.status); !up {
			reason = fmt.Sprintf("status %d, not %d", status, c.status)
		}
	}
	return answer{up: up, reason: reason}
}

// redirect returns the target of a redirect, or nil if the response is final.
func (c *Check) redirect(response *http.Response, where *location, at *url.URL) (*url.URL, error) {
	if !c.follow {
		return nil, nil
	}
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	text := response.Header.Get("Location")
	if text == "" {
		return nil, nil
	}
	base := *at
	base.Scheme, base.Host = where.scheme, where.host
	next, err := base.Parse(text)
	if err != nil {
		return nil, errLocation
	}
	if !strings.EqualFold(next.Scheme, where.scheme) || !sameAuthority(next.Scheme, next.Host, where.host) {
		return nil, nil
	}
	if next.Path == "" {
		next.Path = "/"
	}
	return &url.URL{Path: next.Path, RawPath: next.RawPath, RawQuery: next.RawQuery}, nil
}

// sameAuthority compares authorities, ignoring default ports.
func sameAuthority(scheme, a, b string) bool {
	port := ":80"
	if strings.EqualFold(scheme, "https") {
		port = ":443"
	}
	return strings.EqualFold(strings.TrimSuffix(a, port), strings.TrimSuffix(b, port))
}

// redirected returns the method for the target of a redirect (RFC 9110 section 15.4).
func redirected(method string, status int) string {
	switch {
	case status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect || method == http.MethodHead:
		return method
	}
	return http.MethodGet
}

// head sends a request and returns the head of its response. It reads a small body, so that the endpoint can complete
// its response, and closes it.
func head(client Client, request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	defer cancel()
	response, err := client.RoundTrip(request.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	// The head is sufficient. The rest is not needed, and an endless response gets no more time.
	enough := time.AfterFunc(patience, cancel)
	defer enough.Stop()
	_, _ = io.CopyN(io.Discard, response.Body, maxBody)
	_ = response.Body.Close()
	return response, nil
}
