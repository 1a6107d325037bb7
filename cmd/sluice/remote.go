package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/api"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
)

// apiFlag is the flag that names the API of a running Sluice.
const apiFlag = "api"

// maxAnswer bounds an answer of the API, in bytes.
const maxAnswer = 64 << 20

// questionQuery puts a question into the query of /api/explain.
func questionQuery(question router.Question) url.Values {
	query := url.Values{"method": {question.Method}, "url": {question.URL}}
	if question.EntryPoint != "" {
		query.Set("entrypoint", question.EntryPoint)
	}
	if question.Client != "" {
		query.Set("client", question.Client)
	}
	for name, values := range question.Header {
		for _, value := range values {
			query.Add("header", name+": "+value)
		}
	}
	return query
}

// queryAPI decodes the answer of a running Sluice. base is the URL of its API with or without /api.
func queryAPI(base, path string, query url.Values, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), firstState)
	defer cancel()
	response, err := get(ctx, apiPath(base, path)+"?"+query.Encode(), nil, false)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	return json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(answer)
}

// queryPages returns all elements of a list of a running Sluice, page by page.
func queryPages[T any](base, path string) ([]T, error) {
	const page = 1000
	all := []T{}
	for n := 1; ; n++ {
		var some []T
		query := url.Values{"page": {strconv.Itoa(n)}, "per_page": {strconv.Itoa(page)}}
		if err := queryAPI(base, path, query, &some); err != nil {
			return nil, err
		}
		if all = append(all, some...); len(some) < page {
			return all, nil
		}
	}
}

// queryProviders returns the states of the providers of a running Sluice, which need not be ready.
func queryProviders(base string) ([]api.ProviderReadiness, error) {
	ctx, cancel := context.WithTimeout(context.Background(), firstState)
	defer cancel()
	response, err := get(ctx, apiPath(base, "ready"), nil, false, http.StatusServiceUnavailable)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var ready api.Readiness
	err = json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&ready)
	return ready.Providers, err
}

// queryCounts returns how many routers, services and middlewares of each protocol a running Sluice has, without its own
// ones.
func queryCounts(base string) (map[string]int, error) {
	counts := map[string]int{}
	for _, protocol := range []string{"http", "tcp", "udp"} {
		for _, kind := range []string{"routers", "services", "middlewares"} {
			if protocol == "udp" && kind == "middlewares" {
				continue
			}
			name := kind
			if protocol != "http" {
				name = protocol + strings.ToUpper(kind[:1]) + kind[1:]
			}
			objects, err := queryPages[struct{ Provider string }](base, protocol+"/"+kind)
			if err != nil {
				return nil, err
			}
			for _, object := range objects {
				if object.Provider != pipeline.InternalProvider {
					counts[name]++
				}
			}
		}
	}
	return counts, nil
}

// withoutUser returns a URL without the credentials in it, and without its query.
func withoutUser(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "the URL of --api"
	}
	return (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String()
}

// apiPath returns the URL of a path of the API. base may end in /api.
func apiPath(base, path string) string {
	return strings.TrimSuffix(strings.TrimRight(base, "/"), "/api") + "/api/" + path
}

// get sends a request to a running Sluice, without a proxy of the environment, and returns its answer, of which the
// body must be closed. The certificate of the Sluice of this machine (own) is not verified: it is for clients.
// Credentials of the URL are sent, and no error repeats them or the query. Another status than 200 and the accepted
// ones is an error with the first line of the body.
func get(ctx context.Context, target string, header http.Header, own bool, accepted ...int) (*http.Response, error) {
	return send(ctx, http.MethodGet, target, nil, header, own, accepted...)
}

// send is get with another method, and with a body unless that is nil.
func send(
	ctx context.Context, method, target string, body io.Reader, header http.Header, own bool, accepted ...int,
) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil { // What is wrong with it may be a part of a password.
		return nil, errors.New("the URL can't be read: is every character of its user and its path escaped that has to be?")
	}
	at := request.URL
	if (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" {
		return nil, errors.New("the URL is not of the form http://HOST or https://HOST")
	}
	maps.Copy(request.Header, header)
	request.Host = cmp.Or(header.Get("Host"), at.Host)
	if at.User != nil {
		password, _ := at.User.Password()
		request.SetBasicAuth(at.User.Username(), password)
	}
	shown := (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: at.Path}).String()
	response, err := (&http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: own}, //nolint:gosec // See above.
	}).RoundTrip(request)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, shown, err)
	}
	if response.StatusCode == http.StatusOK || slices.Contains(accepted, response.StatusCode) {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	line, _ := bufio.NewReader(io.LimitReader(response.Body, 500)).ReadString('\n')
	return nil, fmt.Errorf("%s %s: %s: %q", method, shown, response.Status, strings.TrimSpace(line))
}

// ownURL finds where the static configuration serves something of Sluice's own, as seen from this machine: on the
// entrypoint, and at the path, that where returns. The error names the flag that sets it.
func ownURL(
	loaded static.Loaded, findings []static.Finding, flag string,
	where func(*static.Configuration) (entryPoint, path string, err error),
) (string, error) {
	for _, finding := range findings {
		if finding.Severity == static.Error {
			return "", errors.New(finding.String())
		}
	}
	name, path, err := where(loaded.Configuration)
	if err != nil {
		return "", err
	}
	entryPoint := loaded.Configuration.EntryPoints[name]
	if entryPoint == nil {
		return "", fmt.Errorf("entrypoint %q does not exist: name the address with %s", name, flag)
	}
	address, err := static.ParseAddress(entryPoint.Address)
	if err != nil {
		return "", fmt.Errorf("entrypoint %q: %w", name, err)
	}
	if address.Port == 0 {
		return "", fmt.Errorf("entrypoint %q listens on a port that the system chooses: name it with %s", name, flag)
	}
	host := address.Host
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
		if ip.Is6() {
			host = "::1"
		}
	}
	scheme := "http"
	if entryPoint.HTTP.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(int(address.Port))) + path, nil
}
