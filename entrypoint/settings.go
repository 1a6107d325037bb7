package entrypoint

import (
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/static"
)

// openingTimeout bounds the PROXY header, and then the TLS handshake.
const openingTimeout = 10 * time.Second

// settings are the options of an entrypoint in the form in which they are used. They never change.
type settings struct {
	underscore forwarded.Underscore
	policy     canonical.Policy
	forwarding forwarded.Policy
	// keepForwardedFor is notAppendXForwardedFor.
	keepForwardedFor bool

	proxyEnabled bool
	proxyAll     bool
	proxyTrusted forwarded.Trust

	limits                         static.Limits
	maxHeaderBytes, maxHeaderCount int
	keepAliveRequests              int
	keepAliveTime                  time.Duration
	read, write, idle, opening     time.Duration
	acceptGrace, grace             time.Duration
	reusePort                      bool
	maxStreams, tableSize          int
	extendedConnect                bool
	http3                          *static.HTTP3
}

func newSettings(c *static.EntryPoint) (settings, error) {
	s := settings{
		policy:            Policy(&c.HTTP),
		keepForwardedFor:  c.ForwardedHeaders.NotAppendXForwardedFor || c.ForwardProxy != nil,
		limits:            c.Transport.Limits,
		maxHeaderBytes:    c.HTTP.MaxHeaderBytes,
		maxHeaderCount:    c.HTTP.MaxHeaderCount,
		keepAliveRequests: c.Transport.KeepAliveMaxRequests,
		keepAliveTime:     time.Duration(c.Transport.KeepAliveMaxTime),
		read:              time.Duration(c.Transport.RespondingTimeouts.ReadTimeout),
		write:             time.Duration(c.Transport.RespondingTimeouts.WriteTimeout),
		idle:              time.Duration(c.Transport.RespondingTimeouts.IdleTimeout),
		opening:           openingTimeout,
		acceptGrace:       time.Duration(c.Transport.LifeCycle.RequestAcceptGraceTimeout),
		grace:             time.Duration(c.Transport.LifeCycle.GraceTimeOut),
		reusePort:         c.ReusePort,
		maxStreams:        c.HTTP2.MaxConcurrentStreams,
		tableSize:         c.HTTP2.MaxDecoderHeaderTableSize,
		extendedConnect:   c.HTTP2.ExtendedConnect,
		http3:             c.HTTP3,
	}
	s.policy.PlainOnly = c.ForwardProxy != nil
	if s.read > 0 {
		s.opening = min(s.opening, s.read)
	}
	if err := s.setTrust(c); err != nil {
		return settings{}, err
	}
	var err error
	if s.underscore, err = forwarded.ParseUnderscore(c.HTTP.UnderscoreHeadersStrategy); err != nil {
		return settings{}, fmt.Errorf("http.%w", err)
	}
	return s, nil
}

// readsProxy reports whether a connection from the peer may begin with a PROXY header.
func (s *settings) readsProxy(c *connection) bool {
	return s.proxyEnabled && (s.proxyAll || s.proxyTrusted.Contains(c.client))
}

func (s *settings) setTrust(c *static.EntryPoint) error {
	mode, err := forwarded.ParseMode(c.ForwardedHeaders.Forwarded)
	if err != nil {
		return fmt.Errorf("forwardedHeaders.%w", err)
	}
	server, err := os.Hostname()
	if err != nil {
		// X-Forwarded-Server is a courtesy; without a name it is left out.
		server = ""
	}
	s.forwarding = forwarded.Policy{
		Insecure:      c.ForwardedHeaders.Insecure,
		Trusted:       forwarded.TrustOf(c.ForwardedHeaders.TrustedIPs),
		Forwarded:     mode,
		SchemeHeaders: c.ForwardedHeaders.AddXForwardedSchemeHeaders,
		Transparent:   c.ForwardProxy != nil,
		Server:        server,
	}
	for _, name := range c.ForwardedHeaders.Connection {
		s.forwarding.Connection = append(s.forwarding.Connection, http.CanonicalHeaderKey(name))
	}
	if c.ProxyProtocol != nil {
		s.proxyEnabled, s.proxyAll = true, c.ProxyProtocol.Insecure
		s.proxyTrusted = forwarded.TrustOf(c.ProxyProtocol.TrustedIPs)
	}
	return nil
}

// Policy returns what the options of an entrypoint (entryPoints.<name>.http) say about paths and queries. They are the
// policy that explaining a request needs, too.
func Policy(c *static.HTTP) canonical.Policy {
	return canonical.Policy{
		Sanitize:              c.SanitizePath,
		AllowOnlyParameters:   c.AllowParameterSegments,
		EncodeQuerySemicolons: c.EncodeQuerySemicolons,
		Encoded: canonical.EncodedCharacters{
			AllowSlash:         c.EncodedCharacters.AllowEncodedSlash,
			AllowBackSlash:     c.EncodedCharacters.AllowEncodedBackSlash,
			AllowNullCharacter: c.EncodedCharacters.AllowEncodedNullCharacter,
			AllowSemicolon:     c.EncodedCharacters.AllowEncodedSemicolon,
			AllowPercent:       c.EncodedCharacters.AllowEncodedPercent,
			AllowQuestionMark:  c.EncodedCharacters.AllowEncodedQuestionMark,
			AllowHash:          c.EncodedCharacters.AllowEncodedHash,
		},
	}
}
