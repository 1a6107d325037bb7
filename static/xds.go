package static

import (
	"fmt"
	"net"
	"net/netip"
	"path"
	"strings"
)

// XDS publishes services and endpoints to xDS clients (gRPC applications, Envoy, other instances of Sluice).
type XDS struct {
	Address       string          `json:"address" description:"Address on which xDS is served by gRPC, as [host]:port; it must be a loopback address unless clients are authenticated over TLS (tls.caFiles or tokenReview), or allowInsecure is set."`
	TLS           *XDSTLS         `json:"tls" description:"TLS of the connections of xDS clients."`
	TokenReview   *XDSTokenReview `json:"tokenReview" description:"Require a token of a Kubernetes service account of every client, and have the API server check it."`
	AllowInsecure bool            `json:"allowInsecure" description:"Serve xDS on addresses other than loopback without TLS, and to clients without certificate and token."`
	Clients       []XDSClient     `json:"clients" description:"Identities of clients, and what each may see; without any, every client may see everything."`
	MaxStreams    int             `json:"maxStreams" description:"Largest number of streams of all clients." range:"1.."`
}

// DefaultXDSAddress is where xDS is served by default.
const DefaultXDSAddress = "127.0.0.1:18000"

// SetDefaults serves 10,000 streams on a loopback address.
func (x *XDS) SetDefaults() {
	x.Address = DefaultXDSAddress
	x.MaxStreams = 10_000
}

// XDSTLS is TLS of the connections of xDS clients. Its files are read again when they change.
type XDSTLS struct {
	CertFile string   `json:"certFile" description:"Certificate of the server, as a file or PEM text." secret:"file"`
	KeyFile  string   `json:"keyFile" description:"Key of the certificate, as a file or PEM text." secret:"file"`
	CAFiles  []string `json:"caFiles" description:"Authorities of the clients' certificates, as files or PEM text; with them, every client must present a certificate of theirs." secret:"file"`
}

// DefaultXDSAudience is the audience of tokens by default.
const DefaultXDSAudience = "sluice-xds"

// XDSTokenReview has the tokens of xDS clients checked by Kubernetes (TokenReview); its presence enables it.
type XDSTokenReview struct {
	Audience string `json:"audience" description:"Audience that the token must have."`
}

// SetDefaults requires tokens for xDS alone.
func (t *XDSTokenReview) SetDefaults() { t.Audience = DefaultXDSAudience }

// XDSClient says what clients of an identity may see.
type XDSClient struct {
	Identity   string   `json:"identity" description:"Pattern of a URI (such as a SPIFFE id) or DNS name in the client's certificate, or of the user of its token (system:serviceaccount:NAMESPACE:NAME); * stands for any characters but a slash."`
	Namespaces []string `json:"namespaces" description:"Kubernetes namespaces whose services these clients may see; * is everything, with the services of files and containers."`
}

// Authenticated reports whether every client has to prove over TLS who it is, by a certificate or a token.
func (x *XDS) Authenticated() bool { return x.TLS != nil && x.identified() }

// identified reports whether clients have to present a certificate or a token.
func (x *XDS) identified() bool {
	return x.TokenReview != nil || x.TLS != nil && len(x.TLS.CAFiles) > 0
}

// AllNamespaces is the namespace of XDSClient that stands for everything.
const AllNamespaces = "*"

// xds checks that security options are complete, so that none is without effect.
func (l *loader) xds() {
	x := l.Configuration.XDS
	if x == nil {
		return
	}
	host, _, err := net.SplitHostPort(x.Address)
	if err != nil {
		l.fail(fmt.Sprintf("bad address %s, expected [host]:port", shorten(x.Address)), "xds", "address")
	}
	if !x.Authenticated() && !x.AllowInsecure && err == nil && !Loopback(host) {
		l.fail("xDS without TLS, and to clients without certificate or token, is served on loopback addresses only; "+
			"set xds.tls with caFiles, or xds.tls and xds.tokenReview, or xds.allowInsecure", "xds", "address")
	}
	if x.TokenReview != nil && x.TokenReview.Audience == "" {
		l.fail("needs an audience: tokens for the API server itself must not be accepted", "xds", "tokenReview")
	}
	if x.TLS != nil {
		if x.TLS.CertFile == "" || x.TLS.KeyFile == "" {
			l.fail("needs certFile and keyFile", "xds", "tls")
		}
	}
	if len(x.Clients) > 0 && !x.identified() {
		l.fail("needs xds.tls.caFiles or xds.tokenReview, by which the identities are verified", "xds", "clients")
	}
	for i, client := range x.Clients {
		at := []string{"xds", "clients", index(i)}
		if _, err := path.Match(client.Identity, ""); client.Identity == "" || err != nil {
			l.fail("needs an identity: a URI, a DNS name or the user of a token, in which * stands for any characters but a slash", at...)
		}
		if len(client.Namespaces) == 0 {
			l.fail("needs namespaces; * is everything", at...)
		}
	}
}

// Loopback reports whether the host of an address is reached from this machine alone.
func Loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}
