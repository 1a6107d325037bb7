package ingressnginx

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// The keys of Secrets with the authorities of clients' certificates, and their revocation lists.
const (
	keyOfAuthorities = "ca.crt"
	keyOfRevocations = "ca.crl"
)

// clientTLS is how certificates of clients are verified.
type clientTLS struct {
	options                  *annotation.ClientTLS
	authorities, revocations string
}

// verifies reports whether certificates are requested.
func (c *clientTLS) verifies() bool { return c != nil && c.options.Mode != "off" }

// clientCertificate verifies the client's certificate. A plain request has none: it passes unless the subject must
// match, without headers about a certificate.
func (d *locationDraft) clientCertificate() {
	if d.server.Denied != "" {
		d.refuse(dynamic.CodeUnsupportedOption, d.server.Denied, false)
		return
	}
	client, problem := d.clientTLS()
	if problem != nil {
		d.refuse(problem.Code, "auth-tls-secret: "+problem.Reason, problem.Missing)
		return
	}
	if client == nil {
		return
	}
	given := client.options
	made := &dynamic.ClientCertificate{Mode: "off", MatchCN: given.MatchCN, PassCertificate: given.PassCertificate}
	if d.tls && client.verifies() {
		if d.server.Host == anyHost {
			d.refuse(dynamic.CodeUnsupportedOption, "auth-tls-secret: certificates of clients are requested by the name of the "+
				"host, and the rule has none", false)
			return
		}
		made.Mode, made.Depth, made.CAFiles = given.Mode, given.Depth, []string{client.authorities}
		if client.revocations != "" {
			made.CRLFiles = []string{client.revocations}
		}
		made.ErrorPage = d.certificateErrorPage(given.ErrorPage)
	}
	d.use(phaseCertificate, "clientcertificate", &dynamic.Middleware{ClientCertificate: made})
}

// certificateErrorPage returns the page in place of 400, if it is a URL. nginx has a location answer otherwise.
func (d *locationDraft) certificateErrorPage(page string) string {
	if page == "" || strings.Contains(page, "://") {
		return page
	}
	d.degrade(dynamic.CodeUnsupportedOption, "auth-tls-error-page: "+page+" is no URL; 400 is answered", false)
	return ""
}

// clientsOfLocation is how certificates of clients are verified, or why they cannot be.
type clientsOfLocation struct {
	found   *clientTLS
	problem *backend.Problem
}

// clientTLS returns how certificates of clients are verified; nil when they are not. All chains of the location have
// the same, for which the Secrets are read once.
func (d *locationDraft) clientTLS() (found *clientTLS, problem *backend.Problem) {
	if d.clients == nil {
		d.clients = new(clientsOfLocation)
		d.clients.found, d.clients.problem = d.readClientTLS()
	}
	return d.clients.found, d.clients.problem
}

// readClientTLS reads the Secrets of the host. It is the first Ingress of the host whose Secret has an authority that
// decides. A Secret that does not exist closes the host, as in ingress-nginx, and so does it here when no Secret has an
// authority.
func (d *locationDraft) readClientTLS() (found *clientTLS, problem *backend.Problem) {
	for _, owner := range d.server.ClientTLS {
		options := d.optionsOf(owner)
		if options == nil || options.ClientTLS == nil {
			continue
		}
		of := options.ClientTLS.Secret
		name := "Secret " + of.Namespace + "/" + of.Name
		d.need(backend.KindSecret, of.Namespace, of.Name)
		secret := d.provider.watches.Secret(of.Namespace, of.Name)
		if secret == nil {
			return nil, &backend.Problem{Code: dynamic.CodeMissingSecret, Reason: name + " does not exist", Missing: true}
		}
		authorities, revocations := secret.Data[keyOfAuthorities], secret.Data[keyOfRevocations]
		switch {
		case found != nil:
		case len(authorities) == 0:
			problem = &backend.Problem{Code: dynamic.CodeMissingSecret, Reason: name + " has no key " + keyOfAuthorities}
		default:
			if err := checkAuthorities(authorities, revocations); err != nil {
				return nil, &backend.Problem{Code: dynamic.CodeInvalidCertificate, Reason: name + ": " + err.Error()}
			}
			found = &clientTLS{options.ClientTLS, string(authorities), string(revocations)}
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, problem
}

// checkAuthorities returns an error unless a text has certificates alone, and another one nothing or revocation lists.
func checkAuthorities(authorities, revocations []byte) error {
	certificates := 0
	for block, rest := pem.Decode(authorities); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("%s: certificate %d cannot be read", keyOfAuthorities, certificates+1)
		}
		certificates++
	}
	// pem.Decode skips damaged blocks.
	if certificates == 0 || certificates != bytes.Count(authorities, []byte("-----BEGIN CERTIFICATE-----")) {
		return errors.New(keyOfAuthorities + " has no certificates in PEM, or damaged ones")
	}
	if len(revocations) == 0 {
		return nil
	}
	lists := 0
	for block, rest := pem.Decode(revocations); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseRevocationList(block.Bytes); err != nil {
			return fmt.Errorf("%s: list %d cannot be read", keyOfRevocations, lists+1)
		}
		lists++
	}
	if lists == 0 {
		return errors.New(keyOfRevocations + " has no revocation list in PEM")
	}
	return nil
}

// tlsOptions declares the options of TLS connections to the host, and returns their name; empty for the default ones.
// All routers of a host have the same ones. They are chosen by name, before a request is read.
func (d *locationDraft) tlsOptions() string {
	options, usual := &dynamic.TLSOptions{}, &dynamic.TLSOptions{}
	options.SetDefaults()
	usual.SetDefaults()
	d.cryptography(options)
	client, problem := d.clientTLS()
	verifies := problem == nil && client.verifies() && d.server.Host != anyHost
	if verifies {
		options.ClientAuth = dynamic.ClientAuth{
			CAFiles: []string{client.authorities}, ClientAuthType: "RequestClientCert",
		}
	}
	switch {
	case dynamic.Equal(options, usual):
		return ""
	case d.server.Host == anyHost, !verifies && d.server.hasExpression():
		d.degrade(dynamic.CodeUnsupportedOption, "protocols and ciphers of TLS are those of the default TLS options, since "+
			"no name of a host chooses others", false)
		return ""
	}
	if verifies && d.server.hasExpression() {
		d.degrade(dynamic.CodeUnsupportedOption, "auth-tls-secret: connections to aliases that are expressions, or end in "+
			"a wildcard, have no certificate of the client, since no name chooses their TLS options", false)
	}
	name := hashed("tls", options)
	d.result.Put(dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}, options)
	return name
}

// hasExpression reports whether a name of the server is an expression, by which no TLS options can be chosen.
func (p *serverPlan) hasExpression() bool {
	return slices.ContainsFunc(p.Aliases, func(alias string) bool {
		kind := aliasKind(alias)
		return kind == expressionName || kind == trailingWildcard
	})
}

// cryptography sets protocols and ciphers.
func (d *locationDraft) cryptography(options *dynamic.TLSOptions) {
	settings := d.settings()
	options.MinVersion, options.MaxVersion = protocolBounds(settings.SSLProtocols)
	suites, unknown := cipherSuites(cmp.Or(d.server.Ciphers, settings.SSLCiphers))
	// Those of the ConfigMap are the same for all hosts, and get one verdict.
	if len(unknown) > 0 && (d.server.Ciphers != "" || d.server.Host == anyHost) {
		reason := "ssl-ciphers: Go has no " + strings.Join(unknown, ", ")
		if len(suites) == 0 {
			reason += ", so that its own choice of ciphers applies"
		}
		d.degrade(dynamic.CodeUnsupportedOption, reason, false)
	}
	options.CipherSuites = suites
}

// protocolBounds returns the oldest and the newest of some versions of TLS; empty for the defaults, 1.2 and 1.3.
func protocolBounds(given []string) (oldest, newest string) {
	const usual = 2
	versions := []string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
	names := []string{"VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"}
	first, last := len(versions), -1
	for i, version := range versions {
		if slices.Contains(given, version) {
			first, last = min(first, i), i
		}
	}
	if last < 0 {
		return "", ""
	}
	if first != usual {
		oldest = names[first]
	}
	if last != len(names)-1 {
		newest = names[last]
	}
	return oldest, newest
}
