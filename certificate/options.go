package certificate

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Options are the TLS options of connections from clients. They are immutable except for the keys of session tickets,
// which are rotated.
type Options struct {
	// Name is the qualified name of the options.
	Name string
	// Fingerprint identifies the content of the options with the certificate authorities, but without the name and the
	// server certificates. Options with equal fingerprints accept the same clients.
	Fingerprint uint64

	full         [sha256.Size]byte
	config       *tls.Config
	certificates func() *Set
	obtain       Obtain
	strict       bool
	// anyProtocol is set where alpnProtocols has its default.
	anyProtocol bool
	tickets     *Tickets
	applied     atomic.Uint64
	// revocations is nil without CRLs.
	revocations *revocations
	made        time.Time
}

// Obtain returns a certificate for a client whose SNI no certificate names, or nil. It may wait for one to be issued.
type Obtain func(hello *tls.ClientHelloInfo) *tls.Certificate

// NewOptions checks options and reads the certificate authorities for clients and their CRLs; nil means the defaults.
// certificates returns the current Set for each handshake, and obtain, unless it is nil, what the Set has not; without
// tickets (nil), sessions are not resumed. The error names the option and, for an unknown value, the nearest known one.
// An unreadable certificate authority or CRL is an error: such options must not be used.
func NewOptions(
	name string, options *dynamic.TLSOptions, certificates func() *Set, obtain Obtain, tickets *Tickets,
) (*Options, error) {
	if options == nil {
		options = &dynamic.TLSOptions{}
		options.SetDefaults()
	}
	config, clients, err := translate(options)
	if err != nil {
		return nil, fmt.Errorf("tls options %q: %w", name, err)
	}
	full, err := fingerprint(options, clients)
	if err != nil {
		return nil, fmt.Errorf("tls options %q: %w", name, err)
	}
	config.SessionTicketsDisabled = options.DisableSessionTickets || tickets == nil
	var defaults dynamic.TLSOptions
	defaults.SetDefaults()
	o := &Options{
		anyProtocol: slices.Equal(options.ALPNProtocols, defaults.ALPNProtocols),
		Name:        name, Fingerprint: shorten(full), full: full, config: config,
		certificates: certificates, obtain: obtain, strict: options.SNIStrict, tickets: tickets,
		revocations: clients.revocations, made: time.Now(),
	}
	if o.revocations != nil {
		// It is called for resumed sessions, too, with the chains of the first handshake.
		config.VerifyConnection = o.revocations.verify
	}
	o.choose("")
	return o, nil
}

// On returns the options for the handshakes on one entrypoint, which present its own certificates first (see Set.On).
// They accept the same clients, and no session is resumed that began on another entrypoint. On a listener of a provider
// they obtain no certificates.
func (o *Options) On(entryPoint string) *Options {
	on := &Options{
		Name: o.Name, Fingerprint: o.Fingerprint, config: o.config.Clone(),
		certificates: o.certificates, obtain: o.obtain, strict: o.strict, anyProtocol: o.anyProtocol, tickets: o.tickets,
		revocations: o.revocations, made: o.made,
	}
	if dynamic.NamesListener(entryPoint) {
		on.obtain = nil
	}
	on.full = sha256.Sum256(append(o.full[:], entryPoint...))
	on.choose(entryPoint)
	return on
}

// choose makes handshakes choose among the certificates of an entrypoint.
func (o *Options) choose(entryPoint string) {
	config, certificates, obtain, strict := o.config, o.certificates, o.obtain, o.strict
	config.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		set := certificates()
		if set == nil {
			return nil, nil
		}
		place, on := placeOf(hello), set.On(entryPoint)
		if found := on.Get(hello, true); found != nil {
			return found, place.Enter()
		}
		if obtain != nil && hello.ServerName != "" {
			place.Leave()
			if found := obtain(hello); found != nil {
				return found, place.Enter()
			}
		}
		// Without a certificate, crypto/tls refuses the handshake with unrecognized_name (RFC 6066, section 3).
		return on.Get(hello, strict), place.Enter()
	}
	if !strict {
		return
	}
	// A resumed session skips GetCertificate, so the name is checked here.
	config.UnwrapSession = func(identity []byte, state tls.ConnectionState) (*tls.SessionState, error) {
		if set := certificates(); set == nil || len(set.On(entryPoint).lookup(state.ServerName)) == 0 {
			return nil, nil
		}
		return config.DecryptTicket(identity, state)
	}
}

// Config returns the configuration for one handshake. The caller must not modify it.
func (o *Options) Config() *tls.Config {
	if o.config.SessionTicketsDisabled {
		return o.config
	}
	if o.tickets.current(time.Now()) != o.applied.Load() {
		keys, generation := o.tickets.keys(o.full)
		o.config.SetSessionTicketKeys(keys)
		o.applied.Store(generation)
	}
	return o.config
}

// StreamConfig returns the configuration for the handshake of a connection that is not known to be HTTP. Without
// alpnProtocols of its own it also takes a client that offers none of the protocols of HTTP, with the first one that
// the client offers: which ones the server behind speaks is not known. The caller must not modify it.
func (o *Options) StreamConfig(offered []string) *tls.Config {
	config := o.Config()
	if !o.anyProtocol || len(offered) == 0 || slices.ContainsFunc(offered, func(protocol string) bool {
		return slices.Contains(config.NextProtos, protocol)
	}) {
		return config
	}
	config = config.Clone()
	config.NextProtos = offered[:1]
	return config
}

// clients decide which client certificates are accepted.
type clients struct {
	// authorities is the text of the certificate authorities.
	authorities []byte
	revocations *revocations
}

// translate converts options to a configuration, and what that needs besides.
func translate(options *dynamic.TLSOptions) (*tls.Config, clients, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: slices.Clone(options.ALPNProtocols)}
	var err error
	if options.MinVersion != "" {
		if config.MinVersion, err = find("minVersion", options.MinVersion, versions()); err != nil {
			return nil, clients{}, err
		}
	}
	if options.MaxVersion != "" {
		if config.MaxVersion, err = find("maxVersion", options.MaxVersion, versions()); err != nil {
			return nil, clients{}, err
		}
		if config.MaxVersion < config.MinVersion {
			return nil, clients{}, fmt.Errorf("maxVersion %s is below minVersion %s",
				tls.VersionName(config.MaxVersion), tls.VersionName(config.MinVersion))
		}
	}
	if config.CipherSuites, err = findAll("cipherSuites", options.CipherSuites, cipherSuites()); err != nil {
		return nil, clients{}, err
	}
	if config.CurvePreferences, err = findAll("curvePreferences", options.CurvePreferences, curves()); err != nil {
		return nil, clients{}, err
	}
	for i, protocol := range options.ALPNProtocols {
		if protocol == "" || len(protocol) > 255 {
			return nil, clients{}, fmt.Errorf("alpnProtocols[%d]: a protocol has 1 to 255 bytes (RFC 7301, section 3.1)", i)
		}
	}
	accepted, err := clientAuth(config, options.ClientAuth)
	return config, accepted, err
}

// clientAuth sets which client certificates are requested. Authorities without a type request certificates that they
// signed, as in Traefik.
func clientAuth(config *tls.Config, auth dynamic.ClientAuth) (clients, error) {
	var accepted clients
	var known []*x509.Certificate
	if len(auth.CAFiles) > 0 {
		var err error
		if known, accepted.authorities, err = readAuthorities(auth.CAFiles); err != nil {
			return clients{}, err
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		for _, authority := range known {
			config.ClientCAs.AddCert(authority)
		}
	}
	if auth.ClientAuthType != "" {
		kind, err := find("clientAuth.clientAuthType", auth.ClientAuthType, clientAuths())
		if err != nil {
			return clients{}, err
		}
		if kind >= tls.VerifyClientCertIfGiven && config.ClientCAs == nil {
			// Without a pool, crypto/tls would trust all authorities of the system.
			return clients{}, errors.New("clientAuth.clientAuthType: " + auth.ClientAuthType + " needs clientAuth.caFiles")
		}
		config.ClientAuth = kind
	}
	if len(auth.CRLFiles) == 0 {
		return accepted, nil
	}
	if config.ClientAuth < tls.VerifyClientCertIfGiven {
		return clients{}, errors.New("clientAuth.crlFiles: client certificates are not verified, which needs " +
			"clientAuth.caFiles and the clientAuthType VerifyClientCertIfGiven or RequireAndVerifyClientCert")
	}
	lists, err := readCRLs(auth.CRLFiles)
	if err != nil {
		return clients{}, err
	}
	accepted.revocations, err = newRevocations("clientAuth", lists, known)
	return accepted, err
}

// fingerprint hashes everything that decides which clients are accepted. Of CRLs these are the issuers: a new list does
// not end the sessions of clients that it does not name, and is looked at whenever a session is resumed.
func fingerprint(options *dynamic.TLSOptions, accepted clients) ([sha256.Size]byte, error) {
	said := *options
	said.ClientAuth.CAFiles, said.ClientAuth.CRLFiles, said.EntryPoints = nil, nil, nil
	if said.MinVersion == "" {
		said.MinVersion = "VersionTLS12"
	}
	text, err := json.Marshal(&said)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("fingerprint: %w", err)
	}
	hash := sha256.New()
	_, _ = hash.Write(text)
	_, _ = hash.Write([]byte{0})
	_, _ = hash.Write(accepted.authorities)
	if accepted.revocations != nil {
		for _, issuer := range accepted.revocations.issuers() {
			_, _ = fmt.Fprintf(hash, "\x00%d:%s", len(issuer), issuer)
		}
	}
	return [sha256.Size]byte(hash.Sum(nil)), nil
}

// Warnings returns what of the options has an effect that may not be meant.
func (o *Options) Warnings() []string {
	var warnings []string
	if o.revocations != nil {
		warnings = o.revocations.warnings(o.made)
	}
	preferred := o.config.CurvePreferences
	if len(preferred) == 0 || o.config.MaxVersion != 0 && o.config.MaxVersion < tls.VersionTLS13 ||
		slices.ContainsFunc(preferred, postQuantum) {
		return warnings
	}
	return append(warnings, "curvePreferences has no post-quantum key exchange, so that recorded connections can be "+
		"decrypted once there are quantum computers; add X25519MLKEM768, or remove the option")
}

// DemandsClient reports whether every client has to present a certificate that one of the authorities has signed
// (clientAuth.clientAuthType RequireAndVerifyClientCert).
func (o *Options) DemandsClient() bool { return o.config.ClientAuth == tls.RequireAndVerifyClientCert }
