package xds

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// certificateInterval is how old the certificates that were read may be when a connection begins.
const certificateInterval = 10 * time.Second

// certificates are the files of static.XDSTLS, read again at most every certificateInterval.
type certificates struct {
	config static.XDSTLS
	logger telemetry.Logger

	mu     sync.Mutex
	read   time.Time
	digest [sha256.Size]byte
	loaded *tls.Config
}

// NewTLS returns the TLS configuration of the server. The files are read now, and again when a connection begins later:
// what does not load then is logged, and the last certificates stay in use. It fails when they do not load now.
func NewTLS(config static.XDSTLS, logger telemetry.Logger) (*tls.Config, error) {
	c := &certificates{config: config, logger: logger}
	loaded, digest, err := c.load()
	if err != nil {
		return nil, err
	}
	c.read, c.digest, c.loaded = time.Now(), digest, loaded
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(time.Now()), nil },
	}, nil
}

// current returns the configuration of a new connection.
func (c *certificates) current(now time.Time) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.read) < certificateInterval {
		return c.loaded
	}
	c.read = now
	loaded, digest, err := c.load()
	switch {
	case err != nil:
		c.logger.Error("the certificates of xDS do not load; the last ones stay in use", "error", err)
	case digest != c.digest:
		c.digest, c.loaded = digest, loaded
		c.logger.Info("the certificates of xDS have changed")
	}
	return c.loaded
}

// load reads the files.
func (c *certificates) load() (*tls.Config, [sha256.Size]byte, error) {
	var digest [sha256.Size]byte
	certificate, err := document.ReadPEM("xds.tls.certFile", c.config.CertFile)
	if err != nil {
		return nil, digest, err
	}
	key, err := document.ReadPEM("xds.tls.keyFile", c.config.KeyFile)
	if err != nil {
		return nil, digest, err
	}
	pair, err := document.KeyPair(certificate, key)
	if err != nil {
		return nil, digest, fmt.Errorf("xds.tls: certFile and keyFile: %w", err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2"}, Certificates: []tls.Certificate{pair},
	}
	parts := [][]byte{certificate, key}
	for i, file := range c.config.CAFiles {
		option := fmt.Sprintf("xds.tls.caFiles[%d]", i)
		authorities, err := document.ReadPEM(option, file)
		if err != nil {
			return nil, digest, err
		}
		if config.ClientCAs == nil {
			config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		}
		if !config.ClientCAs.AppendCertsFromPEM(authorities) {
			return nil, digest, fmt.Errorf("%s (%s) holds no certificate", option, document.DescribePEM(file))
		}
		parts = append(parts, authorities)
	}
	return config, sha256.Sum256(bytes.Join(parts, []byte{0})), nil
}

// TokenReviewer checks the bearer tokens of clients; tokenreview.Reviewer does.
type TokenReviewer interface {
	// Review returns the user of a token; ok is false for a token that is not valid. It fails when the token cannot be
	// checked.
	Review(ctx context.Context, token string) (user string, ok bool, err error)
}

// Identities authenticates clients by their certificates and tokens (xds.clients, xds.tokenReview).
type Identities struct {
	clients []static.XDSClient
	tokens  TokenReviewer // nil where no tokens are needed
	// certificates is set where the clients have certificates.
	certificates bool
}

// NewIdentities returns an Authenticator, or nil where every client may see everything. Tokens are needed with
// xds.tokenReview, and nil otherwise.
func NewIdentities(config *static.XDS, tokens TokenReviewer) Authenticator {
	if len(config.Clients) == 0 && tokens == nil {
		return nil
	}
	certificates := config.TLS != nil && len(config.TLS.CAFiles) > 0
	return &Identities{clients: config.Clients, tokens: tokens, certificates: certificates || tokens == nil}
}

// Views returns the groups of namespaces that clients are bound to.
func Views(clients []static.XDSClient) [][]string {
	var views [][]string
	for i := range clients {
		if namespaces := namespacesOf(&clients[i]); len(namespaces) > 0 {
			views = append(views, namespaces)
		}
	}
	return views
}

// namespacesOf returns the namespaces of a client; nil for all.
func namespacesOf(client *static.XDSClient) []string {
	for _, namespace := range client.Namespaces {
		if namespace == static.AllNamespaces {
			return nil
		}
	}
	return append([]string{}, client.Namespaces...) // Without any it is not nil, which stands for all.
}

// Authenticate returns the namespaces of the first client whose identity the user of the token or a name in the
// certificate matches. Without clients, every authenticated client may see everything.
func (i *Identities) Authenticate(ctx context.Context) (identity string, namespaces []string, err error) {
	var names []string
	if i.tokens != nil {
		user, err := i.tokenUser(ctx)
		if err != nil {
			return "", nil, err
		}
		names = append(names, user)
	}
	if i.certificates {
		own, err := certificateNames(ctx)
		if err != nil {
			return "", nil, status.Error(codes.Unauthenticated, err.Error())
		}
		names = append(names, own...)
	}
	if len(i.clients) == 0 {
		return names[0], nil, nil
	}
	for at := range i.clients {
		for _, name := range names {
			if matched, err := path.Match(i.clients[at].Identity, name); err == nil && matched {
				return name, namespacesOf(&i.clients[at]), nil
			}
		}
	}
	return "", nil, status.Error(codes.PermissionDenied, "no identity of xds.clients matches the client's certificate or token")
}

// tokenUser returns the user of the bearer token of a call. It fails for a call without a valid one.
func (i *Identities) tokenUser(ctx context.Context) (string, error) {
	given := metadata.ValueFromIncomingContext(ctx, "authorization")
	if len(given) != 1 {
		return "", status.Error(codes.Unauthenticated, "the client has presented no token, or several")
	}
	scheme, token, _ := strings.Cut(given[0], " ")
	if token = strings.TrimSpace(token); !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", status.Error(codes.Unauthenticated, "the client has presented no bearer token")
	}
	user, ok, err := i.tokens.Review(ctx, token)
	switch {
	case err != nil:
		return "", status.Error(codes.Unavailable, "the token cannot be checked")
	case !ok:
		return "", status.Error(codes.Unauthenticated, "the token is not valid for the audience")
	}
	return user, nil
}

// certificateNames returns the URIs and DNS names of the client's verified certificate.
func certificateNames(ctx context.Context) ([]string, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return nil, errors.New("the client has no address")
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return nil, errors.New("the client has presented no certificate")
	}
	leaf := info.State.VerifiedChains[0][0]
	names := make([]string, 0, len(leaf.URIs)+len(leaf.DNSNames))
	for _, uri := range leaf.URIs {
		names = append(names, uri.String())
	}
	return append(names, leaf.DNSNames...), nil
}
