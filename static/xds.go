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
	Address       string      `json:"address" description:"Address on which xDS is served by gRPC, as [host]:port; without tls it must be a loopback address, unless allowInsecure is set."`
	TLS           *XDSTLS     `json:"tls" description:"TLS of the connections of xDS clients."`
	AllowInsecure bool        `json:"allowInsecure" description:"Serve xDS without TLS on addresses other than loopback."`
	Clients       []XDSClient `json:"clients" description:"Identities of clients, and what each may see; without any, every client may see everything."`
	MaxStreams    int         `json:"maxStreams" description:"Largest number of streams of all clients." range:"1.."`
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

// XDSClient says what clients of an identity may see.
type XDSClient struct {
	Identity   string   `json:"identity" description:"Pattern of a URI (such as a SPIFFE id) or DNS name in the client's certificate; * stands for any characters but a slash."`
	Namespaces []string `json:"namespaces" description:"Kubernetes namespaces whose services these clients may see; * is everything, with the services of files and containers."`
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
	if x.TLS == nil && !x.AllowInsecure && err == nil && !Loopback(host) {
		l.fail("xDS without TLS is served on loopback addresses only; set xds.tls, or xds.allowInsecure", "xds", "address")
	}
	if x.TLS != nil {
		if x.TLS.CertFile == "" || x.TLS.KeyFile == "" {
			l.fail("needs certFile and keyFile", "xds", "tls")
		}
	}
	if len(x.Clients) > 0 && (x.TLS == nil || len(x.TLS.CAFiles) == 0) {
		l.fail("needs xds.tls.caFiles, by which the identities are verified", "xds", "clients")
	}
	for i, client := range x.Clients {
		at := []string{"xds", "clients", index(i)}
		if _, err := path.Match(client.Identity, ""); client.Identity == "" || err != nil {
			l.fail("needs an identity: a URI or DNS name, in which * stands for any characters but a slash", at...)
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
