package image

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
)

// settings returns the settings of a TLS server whose certificate and key are named by variables, or nil if one of the
// variables is not set.
func (c Container) settings(certificate, key string) (*tls.Config, error) {
	if c.Env[certificate] == "" || c.Env[key] == "" {
		return nil, nil
	}
	certificatePEM, err := c.file(certificate)
	if err != nil {
		return nil, err
	}
	keyPEM, err := c.file(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, nil
}

// verifyClients makes a server verify the certificates that clients send, if TLS_CLIENT_CACERTS is set.
func (c Container) verifyClients(settings *tls.Config) error {
	if c.Env["TLS_CLIENT_CACERTS"] == "" {
		return nil
	}
	authorities, err := c.file("TLS_CLIENT_CACERTS")
	if err != nil {
		return err
	}
	settings.ClientCAs = x509.NewCertPool()
	if !settings.ClientCAs.AppendCertsFromPEM(authorities) {
		return errors.New("TLS_CLIENT_CACERTS: no certificate in the file")
	}
	settings.ClientAuth = tls.VerifyClientCertIfGiven
	return nil
}

// handshake describes a TLS connection.
type handshake struct {
	Version            string   `json:"version"`
	PeerCertificates   []string `json:"peerCertificates,omitempty"`
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
}

// describe describes a connection; it returns nil without TLS.
func describe(state *tls.ConnectionState) *handshake {
	if state == nil {
		return nil
	}
	h := &handshake{
		Version: version(state.Version), ServerName: state.ServerName, NegotiatedProtocol: state.NegotiatedProtocol,
		CipherSuite: tls.CipherSuiteName(state.CipherSuite),
	}
	for _, certificate := range state.PeerCertificates {
		block := &pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw}
		h.PeerCertificates = append(h.PeerCertificates, string(pem.EncodeToMemory(block)))
	}
	return h
}

// version returns the name of a TLS version as OpenSSL spells it.
func version(number uint16) string {
	switch number {
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return ""
}
