// Package clienttls says how a middleware speaks TLS to a server that it asks (the option tls).
//
// What flows in: the options as an operator wrote them. What flows out: what [github.com/sluiceproxy/sluice/document/clienttls] makes of
// them. It never reads or judges a value itself.
package clienttls

import (
	"crypto/tls"

	"github.com/sluiceproxy/sluice/document/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
)

// Fingerprint is that of package document/clienttls.
type Fingerprint = clienttls.Fingerprint

// New returns how a client speaks TLS, and nil when config is nil, which is a client that does not. The option is where config stands
// ("rateLimit.redis.tls"), and errors begin with it. Files are read through readFile; nil stands for reading regular files from the disk.
func New(option string, config *dynamic.ClientTLS, readFile func(path string) ([]byte, error)) (*tls.Config, error) {
	secured, _, err := Load(option, config, readFile)
	return secured, err
}

// Load is New, and returns the fingerprint of what was read as well.
func Load(option string, config *dynamic.ClientTLS, readFile func(path string) ([]byte, error)) (*tls.Config, Fingerprint, error) {
	return clienttls.Load(option, optionsOf(config), readFile)
}

// optionsOf leaves out caOptional, which is deprecated and says nothing to a client.
func optionsOf(config *dynamic.ClientTLS) *clienttls.Options {
	if config == nil {
		return nil
	}
	return &clienttls.Options{CA: config.CA, Cert: config.Cert, Key: config.Key, InsecureSkipVerify: config.InsecureSkipVerify}
}
