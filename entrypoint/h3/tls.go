package h3

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"slices"

	"github.com/quic-go/quic-go/http3"
)

// tlsConfig returns the configuration of the listener.
func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		NextProtos: []string{http3.NextProtoH3},
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			config, err := s.config.TLS(hello)
			if err != nil || config == nil {
				return &tls.Config{
					MinVersion: tls.VersionTLS13, NextProtos: []string{http3.NextProtoH3}, SessionTicketsDisabled: true,
				}, err
			}
			return s.overQUIC(config), nil
		},
	}
}

// overQUIC returns a configuration for HTTP/3 with the certificates, client certificates and keys of another.
func (s *Server) overQUIC(config *tls.Config) *tls.Config {
	// A copy made for each handshake has the ticket keys of the time.
	over := config.Clone()
	over.NextProtos = []string{http3.NextProtoH3}
	over.MinVersion = tls.VersionTLS13
	if !s.config.Allow0RTT || over.SessionTicketsDisabled {
		return over
	}
	wrap, unwrap := over.WrapSession, over.UnwrapSession
	if wrap == nil {
		wrap = config.EncryptTicket
	}
	if unwrap == nil {
		unwrap = config.DecryptTicket
	}
	limits := s.ticketLimits()
	over.WrapSession = func(state tls.ConnectionState, session *tls.SessionState) ([]byte, error) {
		session.Extra = append(session.Extra, limits)
		return wrap(state, session)
	}
	over.UnwrapSession = func(identity []byte, state tls.ConnectionState) (*tls.SessionState, error) {
		session, err := unwrap(identity, state)
		if session != nil && session.EarlyData {
			same := slices.ContainsFunc(session.Extra, func(extra []byte) bool { return bytes.Equal(extra, limits) })
			session.EarlyData = same && config.ClientAuth == tls.NoClientCert
		}
		return session, err
	}
	return over
}

// ticketLimits returns what a session ticket keeps of the settings of HTTP/3: early data is written under those of the
// connection before, so that it is accepted only where they are the same (RFC 9114, section 7.2.4.2).
func (s *Server) ticketLimits() []byte {
	return binary.BigEndian.AppendUint64([]byte("sluice h3"), uint64(s.config.MaxHeaderBytes))
}
