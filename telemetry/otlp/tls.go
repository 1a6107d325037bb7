package otlp

import (
	"cmp"
	"crypto/tls"

	"github.com/sluiceproxy/sluice/clienttls"
	"github.com/sluiceproxy/sluice/static"
)

// clientTLS returns the TLS configuration for a collector; without options the system's authorities are trusted.
func clientTLS(option string, options *static.ClientTLS) (*tls.Config, error) {
	return clienttls.New(option, cmp.Or((*clienttls.Options)(options), &clienttls.Options{}), nil)
}
