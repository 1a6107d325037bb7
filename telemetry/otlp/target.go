package otlp

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/gzip"

	"github.com/sluiceproxy/sluice/static"
)

const (
	// patience bounds one attempt to send a batch.
	patience = 10 * time.Second
	// longestBackoff is the longest time between two attempts to connect, so that a collector which comes back
	// is soon found.
	longestBackoff = 10 * time.Second
	// idle is how long an unused connection is kept: longer than any interval at which something is sent.
	idle = 90 * time.Second
)

// target is one collector, and how to reach it.
type target struct {
	signal   string
	grpc     bool
	endpoint string
	// plain disables compression.
	plain   bool
	headers map[string]string
	secure  credentials.TransportCredentials
	client  *http.Client
	secrets []string
}

// resolve reads the options. gRPC goes before HTTP; where neither is given, it is the local collector by HTTP.
func resolve(signal string, byGRPC *static.OTLPGRPC, byHTTP *static.OTLPHTTP) (*target, error) {
	if byGRPC != nil {
		return resolveGRPC(signal, byGRPC)
	}
	if byHTTP == nil {
		byHTTP = new(static.OTLPHTTP)
		byHTTP.SetDefaults()
	}
	return resolveHTTP(signal, byHTTP)
}

func resolveGRPC(signal string, options *static.OTLPGRPC) (*target, error) {
	if strings.Contains(options.Endpoint, "@") {
		return nil, errors.New("grpc.endpoint: is host:port, without a user; credentials are headers")
	}
	if _, _, err := net.SplitHostPort(options.Endpoint); err != nil {
		return nil, fmt.Errorf("grpc.endpoint: %q is not host:port", options.Endpoint)
	}
	if err := checkHeaders("grpc", options.Headers); err != nil {
		return nil, err
	}
	if err := checkMetadata(options.Headers); err != nil {
		return nil, err
	}
	out := &target{
		signal: signal, grpc: true, endpoint: options.Endpoint, headers: options.Headers,
		secrets: secrets(options.Headers), plain: onThisMachine(options.Endpoint),
	}
	if options.Insecure {
		if options.TLS != nil {
			return nil, errors.New("grpc.insecure: contradicts grpc.tls")
		}
		out.secure = insecure.NewCredentials()
		return out, nil
	}
	config, err := clientTLS("grpc.tls", options.TLS)
	if err != nil {
		return nil, err
	}
	out.secure = credentials.NewTLS(config)
	return out, nil
}

// dial are the options of the connection. They come after those that the exporter reads from the environment,
// and so go before them.
func (t *target) dial() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(t.secure),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(compression(t, encoding.Identity, gzip.Name))),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: time.Second, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestBackoff},
			MinConnectTimeout: patience,
		}),
	}
}

func resolveHTTP(signal string, options *static.OTLPHTTP) (*target, error) {
	address, err := url.Parse(options.Endpoint)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, errors.New("http.endpoint: is not a URL with http:// or https:// and a host")
	}
	if address.RawQuery != "" || address.Fragment != "" {
		return nil, errors.New("http.endpoint: may have a path, but neither a query nor a fragment")
	}
	if address.Scheme == "http" && options.TLS != nil {
		return nil, errors.New("http.tls: the endpoint is http://, which has no TLS")
	}
	if err := checkHeaders("http", options.Headers); err != nil {
		return nil, err
	}
	headers := withCredentials(options.Headers, address.User)
	password, _ := address.User.Password()
	address.User = nil
	if address.Path == "" || address.Path == "/" {
		address.Path = "/v1/" + signal
	}
	config, err := clientTLS("http.tls", options.TLS)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, TLSClientConfig: config, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 1,
		IdleConnTimeout: idle, DialContext: (&net.Dialer{Timeout: patience}).DialContext, TLSHandshakeTimeout: patience,
	}
	client := &http.Client{
		Transport: transport, Timeout: patience,
		// A redirect would carry the headers, and so the API key, to a server that the options do not name.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &target{
		signal: signal, endpoint: address.String(), headers: headers, client: client, secrets: secrets(headers, password),
		plain: onThisMachine(address.Host),
	}, nil
}

// withCredentials adds the user of an endpoint's URL to the headers; a header of the options goes before it.
func withCredentials(headers map[string]string, user *url.Userinfo) map[string]string {
	out := make(map[string]string, len(headers)+1)
	if user != nil {
		password, _ := user.Password()
		out["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
	}
	for name, value := range headers {
		out[http.CanonicalHeaderKey(name)] = cmp.Or(value, out[http.CanonicalHeaderKey(name)])
	}
	// The exporter sets them: they depend on how it writes the body and on what it can read.
	for _, name := range []string{"Content-Type", "Content-Encoding", "Accept-Encoding"} {
		delete(out, name)
	}
	return out
}

// close closes idle connections; those of gRPC end with their exporter.
func (t *target) close() {
	if t.client != nil {
		t.client.CloseIdleConnections()
	}
}
