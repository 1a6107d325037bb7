package client

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// readToken has the token read from its file for every request. Requests are few, since watches last; and a token that
// has been replaced because the old one was withdrawn works at once.
func readToken(config *rest.Config) {
	if config.BearerTokenFile == "" {
		return
	}
	path := config.BearerTokenFile
	config.BearerToken, config.BearerTokenFile = "", ""
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tokenFile{next: next, path: path} })
}

// tokenFile authenticates requests with the token in a file.
type tokenFile struct {
	next http.RoundTripper
	path string
	last atomic.Pointer[string]
}

// RoundTrip authenticates the request and passes it on.
func (f *tokenFile) RoundTrip(request *http.Request) (*http.Response, error) {
	token, err := f.token()
	if err != nil {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+token)
	return f.next.RoundTrip(request)
}

// WrappedRoundTripper returns what it wraps, so that idle connections can be found and closed.
func (f *tokenFile) WrappedRoundTripper() http.RoundTripper { return f.next }

// token reads the file. A file that cannot be read leaves the token as it was.
func (f *tokenFile) token() (string, error) {
	text, err := os.ReadFile(f.path)
	token := strings.TrimSpace(string(text))
	if err == nil && token == "" {
		err = errors.New("the file is empty")
	}
	if err == nil {
		f.last.Store(&token)
		return token, nil
	}
	if last := f.last.Load(); last != nil {
		return *last, nil
	}
	return "", fmt.Errorf("token file %s: %w", f.path, err)
}
