package docker

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/moby/moby/client"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/static"
)

// idle is how long an unused connection to the engine is kept: about the pause within a burst of events.
const idle = 5 * time.Second

// endpointSchemes are the valid schemes of the option endpoint.
var endpointSchemes = []string{"unix", "tcp", "http", "https"}

// newConnector checks the connection options and returns the function that connects. Each connection negotiates the API
// version and reads the TLS files again, since the engine or its certificates may have been replaced.
func newConnector(config static.Docker) (func() (engine, error), error) {
	scheme, rest, found := strings.Cut(config.Endpoint, "://")
	scheme = strings.ToLower(scheme)
	switch {
	case !found || rest == "":
		return nil, fmt.Errorf("endpoint: %q is not of the form unix:///PATH or tcp://HOST:PORT", redact(config.Endpoint))
	case scheme == "ssh":
		return nil, errors.New("endpoint: ssh is not supported; use tcp with TLS, or let ssh forward the socket (ssh -L)")
	case scheme == "npipe":
		return nil, errors.New("endpoint: npipe is not supported; it exists on Windows alone")
	case scheme == "unix" && config.TLS != nil:
		return nil, errors.New("tls: the socket of an engine on this host has no TLS")
	case config.Username == "" && config.Password != "":
		return nil, errors.New("password: there is no username to go with it")
	}
	if config.HTTPClientTimeout < 0 {
		return nil, errors.New("httpClientTimeout: is negative")
	}
	host, err := hostOf(scheme, rest)
	if err != nil {
		return nil, fmt.Errorf("endpoint: %w", err)
	}
	if _, err := tlsConfig(scheme, config.TLS); err != nil {
		return nil, err
	}
	return func() (engine, error) { return dial(scheme, host, config) }, nil
}

// hostOf returns the endpoint in the form of the client: unix://PATH or tcp://HOST:PORT/PATH.
func hostOf(scheme, rest string) (string, error) {
	switch scheme {
	case "unix":
		return "unix://" + rest, nil
	case "tcp", "http", "https":
		location, err := url.Parse("tcp://" + rest)
		if err != nil || location.Hostname() == "" {
			return "", fmt.Errorf("%q names no host", redact(scheme+"://"+rest))
		}
		if location.User != nil {
			return "", errors.New("write the user as username and password")
		}
		port := map[string]string{"http": "80", "https": "443", "tcp": "2375"}[scheme]
		location.Host = net.JoinHostPort(location.Hostname(), cmp.Or(location.Port(), port))
		return location.String(), nil
	}
	reason := fmt.Sprintf("%s is none of %s", scheme, strings.Join(endpointSchemes, ", "))
	if near, ok := document.Nearest(scheme, endpointSchemes); ok {
		reason += fmt.Sprintf(", did you mean %s?", near)
	}
	return "", errors.New(reason)
}

// redact hides a password.
func redact(endpoint string) string {
	if at := strings.LastIndexByte(endpoint, '@'); at >= 0 {
		return "xxxxx" + endpoint[at:]
	}
	return endpoint
}

// dial returns a connection to the engine.
func dial(scheme, host string, config static.Docker) (engine, error) {
	secured, err := tlsConfig(scheme, config.TLS)
	if err != nil {
		return nil, err
	}
	timeout := cmp.Or(time.Duration(config.HTTPClientTimeout), defaultTimeout)
	transport := &http.Transport{
		TLSClientConfig: secured, MaxIdleConns: parallel, MaxIdleConnsPerHost: parallel, IdleConnTimeout: idle,
		TLSHandshakeTimeout: timeout, ResponseHeaderTimeout: timeout, // The event stream has no other timeout.
	}
	options := []client.Opt{
		client.WithHTTPClient(&http.Client{Transport: transport, CheckRedirect: client.CheckRedirect}),
		client.WithHost(host), client.WithUserAgent("Sluice"), client.WithScheme("http"),
	}
	if secured != nil {
		options = append(options, client.WithScheme("https"))
	}
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: heartbeat}
	out := &remote{timeout: timeout}
	options = append(options, client.WithDialContext(func(ctx context.Context, network, address string) (net.Conn, error) {
		if path, local := strings.CutPrefix(host, "unix://"); local {
			network, address = "unix", path
		}
		connection, err := dialer.DialContext(ctx, network, address)
		out.denied.Store(errors.Is(err, fs.ErrPermission))
		return connection, err
	})) // After WithHost, which sets a dialer of its own.
	if config.Username != "" {
		credentials := base64.StdEncoding.EncodeToString([]byte(config.Username + ":" + config.Password))
		options = append(options, client.WithHTTPHeaders(map[string]string{"Authorization": "Basic " + credentials}))
	}
	if out.client, err = client.New(options...); err != nil {
		return nil, err
	}
	return out, nil
}

// tlsConfig returns the TLS configuration for the engine; nil for plain text.
func tlsConfig(scheme string, options *static.ClientTLS) (*tls.Config, error) {
	if options == nil {
		if scheme == "https" {
			return &tls.Config{MinVersion: tls.VersionTLS12}, nil
		}
		return nil, nil
	}
	if scheme == "http" {
		return nil, errors.New("tls: the endpoint is http://, which has no TLS")
	}
	return clienttls.New("tls", (*clienttls.Options)(options), nil)
}

// hostNames resolve to the engine's host inside of containers.
var hostNames = []string{"host.docker.internal", "host.containers.internal"}

// lookupTime is the timeout for resolving one of the hostNames.
const lookupTime = time.Second

// hostAddress returns the address of the engine's host. If none of the hostNames resolves, this is the host itself.
func hostAddress(ctx context.Context) netip.Addr {
	ctx, cancel := context.WithTimeout(ctx, lookupTime)
	defer cancel()
	for _, name := range hostNames {
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
		if err == nil && len(addresses) > 0 {
			return addresses[0].Unmap()
		}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
