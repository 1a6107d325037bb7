package node

import (
	"io"
	"net/http"
	"net/url"
	"strings"
)

// callNext sends a request to the next host of a chain, and returns the response as text.
func callNext(r *http.Request) string {
	query := r.URL.Query()
	host, rest, more := strings.Cut(query.Get("next"), ",")
	query.Del("next")
	if more {
		query.Set("next", rest)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	target := url.URL{Scheme: "http", Host: query.Get("via"), Path: "/", RawQuery: query.Encode()}
	if proxy := query.Get("proxy"); proxy != "" {
		target.Host = host
		transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: proxy})
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return err.Error() + "\n"
	}
	request.Host = host
	if name := query.Get("pass"); r.Header.Get(name) != "" {
		request.Header.Set(name, r.Header.Get(name))
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err.Error() + "\n"
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error() + "\n"
	}
	return string(body)
}
