package entrypoint_test

import (
	"crypto/tls"
	"net/http"

	"github.com/quic-go/quic-go/http3"
)

// http3 returns a client of HTTP/3. config may be nil.
func (s *served) http3(config *tls.Config) *http.Client {
	if config == nil {
		config = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // The certificate is generated.
	}
	transport := &http3.Transport{TLSClientConfig: config}
	s.t.Cleanup(func() { _ = transport.Close() })
	return &http.Client{Transport: transport}
}
