package ingressnginx

import (
	"strings"
	"time"

	ptypes "github.com/traefik/paerser/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// requestBuffering reads a request's body before an endpoint gets it.
func (d *locationDraft) requestBuffering() {
	proxy := &d.options.Proxy
	if !proxy.RequestBuffering {
		return
	}
	made := &dynamic.Buffering{RequestOnly: true, MemRequestBodyBytes: proxy.BodyBuffer}
	if proxy.BodyBuffer == d.provider.defaultBodyBuffer() {
		// More memory than in nginx, so that bodies of the default size need no file.
		made.MemRequestBodyBytes = 0
	}
	d.use(phaseBuffer, "buffering", &dynamic.Middleware{Buffering: made})
}

// defaultBodyBuffer returns client-body-buffer-size where nothing sets it.
func (*Provider) defaultBodyBuffer() int64 { return annotation.DefaultSettings().Proxy.BodyBuffer }

// timeouts bounds the times of an exchange with an endpoint.
func (d *locationDraft) timeouts() {
	proxy := &d.options.Proxy
	made := &dynamic.Timeout{Idle: ptypes.Duration(max(proxy.ReadTimeout, proxy.SendTimeout))}
	if made.ResponseHeader = ptypes.Duration(longestWait(retryOf(proxy))); made.ResponseHeader == 0 {
		made.ResponseHeader = ptypes.Duration(proxy.ReadTimeout) // No other attempt follows one that takes too long.
	}
	if made.Idle > 0 || made.ResponseHeader > 0 {
		d.use(phaseBuffer, "timeout", &dynamic.Middleware{Timeout: made})
	}
}

// proxyTLS is how connections to endpoints are made. Without its Secret the location is denied, whatever is spoken.
func (d *locationDraft) proxyTLS() {
	if options := d.options.ProxyTLS; options != nil {
		if _, problem := d.peer(options); problem != nil {
			d.refuse(problem.Code, "proxy-ssl-secret: "+problem.Reason, problem.Missing)
		}
	}
	if d.reference.Balancer != nil {
		d.reference.Balancer.ServersTransport = d.transport(d.reference.Scheme, true)
	}
}

// transport declares how connections with a scheme are made, with proxy-ssl-secret or without, and returns its name.
func (d *locationDraft) transport(scheme string, secured bool) string {
	made := &dynamic.ServersTransport{}
	made.SetDefaults()
	made.ForwardingTimeouts.DialTimeout = ptypes.Duration(d.options.Proxy.ConnectTimeout)
	made.ForwardingTimeouts.IdleConnTimeout = d.idle()
	if scheme == "https" {
		made.InsecureSkipVerify, made.DisableSNI = true, true
		made.DisableHTTP2 = d.options.Backend.Protocol != "GRPCS"
		if secured {
			d.secure(made)
		}
	}
	return d.putTransport(made)
}

// plainTransport declares how connections without TLS are made by default, and returns its name.
func (d *locationDraft) plainTransport() string {
	made := &dynamic.ServersTransport{}
	made.SetDefaults()
	made.ForwardingTimeouts.DialTimeout = ptypes.Duration(d.provider.defaults.Proxy.ConnectTimeout)
	made.ForwardingTimeouts.IdleConnTimeout = d.idle()
	return d.putTransport(made)
}

// idle returns how long an unused connection is kept. 0 closes it at once in nginx, and sets no limit here.
func (d *locationDraft) idle() ptypes.Duration {
	return ptypes.Duration(max(d.settings().IdleTimeout, time.Millisecond))
}

func (d *locationDraft) putTransport(made *dynamic.ServersTransport) string {
	name, made := share(&d.provider.shared, "transport", made)
	d.result.Put(dynamic.Ref{Kind: dynamic.KindServersTransport, Name: name}, made)
	return name
}

// peer is what a Secret of proxy-ssl-secret holds.
type peer struct {
	options *annotation.ProxyTLS
	// pair is the client's certificate, authority that of the endpoints; either may be empty.
	pair      dynamic.Certificate
	authority string
}

// defaultPeerName is the name of endpoints where proxy-ssl-name sets none: that of the upstream in nginx.
const defaultPeerName = "upstream_balancer"

// secure sets TLS towards endpoints. The annotations of the location count; for its authority and what goes with it
// also those of the first Ingress of the host with one.
func (d *locationDraft) secure(made *dynamic.ServersTransport) {
	var own *peer
	if options := d.options.ProxyTLS; options != nil {
		var problem *backend.Problem
		if own, problem = d.peer(options); problem != nil {
			return
		}
	}
	verifies := own
	if own == nil || own.authority == "" {
		if host := d.hostPeer(); host != nil {
			verifies = host
		}
	}
	if own == nil {
		own = verifies
	}
	if own == nil {
		return
	}
	if d.options.Backend.Protocol == "GRPCS" {
		d.degrade(dynamic.CodeUnsupportedOption, "proxy-ssl-secret: it has no effect with gRPC, as in nginx", false)
		return
	}
	made.ServerName, made.DisableSNI = own.options.Name, !own.options.ServerName
	if made.ServerName == "" {
		made.ServerName = defaultPeerName
	}
	if own.pair.CertFile != "" {
		made.Certificates = []dynamic.Certificate{own.pair}
	}
	if verifies.authority == "" {
		return
	}
	d.versions(made, verifies.options)
	if verifies.options.Verify {
		depth := verifies.options.VerifyDepth
		made.InsecureSkipVerify, made.VerifyDepth, made.RootCAs = false, &depth, []string{verifies.authority}
	}
}

// hostPeer returns the annotations of the first Ingress of the host whose Secret has an authority; nil for none.
func (d *locationDraft) hostPeer() *peer {
	if d.settings().ProxyTLSLocationOnly {
		return nil
	}
	for _, name := range d.server.ProxyTLS {
		options := d.optionsOf(name)
		if options == nil || options.ProxyTLS == nil {
			continue
		}
		if found, problem := d.peer(options.ProxyTLS); problem == nil && found.authority != "" {
			return found
		}
	}
	return nil
}

// peer reads the Secret of proxy-ssl-secret: a certificate with its key, an authority (ca.crt), or both.
func (d *locationDraft) peer(options *annotation.ProxyTLS) (*peer, *backend.Problem) {
	namespace, name := options.Secret.Namespace, options.Secret.Name
	d.need(backend.KindSecret, namespace, name)
	secret := d.provider.watches.Secret(namespace, name)
	found := &peer{options: options}
	if secret != nil {
		found.authority = string(secret.Data[keyOfAuthorities])
	}
	if found.authority != "" && len(secret.Data[corev1.TLSCertKey]) == 0 {
		return found, nil
	}
	var problem *backend.Problem
	found.pair, problem = d.provider.pairs.KeyPair(namespace, name, &d.provider.watches)
	return found, problem
}

// versions sets versions and cipher suites.
func (d *locationDraft) versions(made *dynamic.ServersTransport, options *annotation.ProxyTLS) {
	made.MinVersion, made.MaxVersion = protocolBounds(options.Protocols)
	if options.Ciphers == defaultCiphers {
		return
	}
	suites, unknown := cipherSuites(options.Ciphers)
	made.CipherSuites = suites
	if len(unknown) > 0 {
		d.degrade(dynamic.CodeUnsupportedOption, "proxy-ssl-ciphers: Go does not have "+strings.Join(unknown, ", "), false)
	}
}

// defaultCiphers are those of OpenSSL.
const defaultCiphers = "DEFAULT"
