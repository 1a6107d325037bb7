package backend

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Pairs reads certificates with their keys from TLS Secrets, and each Secret once: thousands of routes may
// name the same one, and it takes up to a millisecond to find that a certificate and its key belong together. Its zero
// value is ready for use, by one goroutine at a time.
type Pairs struct {
	read map[pairName]pair
}

type pairName struct{ namespace, name string }

// pair is what came of one Secret.
type pair struct {
	secret  *corev1.Secret
	pair    dynamic.Certificate
	problem *Problem
}

// KeyPair returns the certificate and the key of a TLS Secret (tls.crt and tls.key) as inline PEM. They belong
// together; an expired certificate is no problem.
func (p *Pairs) KeyPair(namespace, name string, secrets Secrets) (dynamic.Certificate, *Problem) {
	key, secret := pairName{namespace, name}, secrets.Secret(namespace, name)
	known, found := p.read[key]
	if !found || known.secret != secret {
		known = pair{secret: secret}
		known.pair, known.problem = keyPair(namespace, name, secret)
		if p.read == nil {
			p.read = map[pairName]pair{}
		}
		p.read[key] = known
	}
	return known.pair, known.problem
}

// Certificate returns the certificate of a TLS Secret, as inline PEM under the name NAMESPACE/NAME.
func (p *Pairs) Certificate(namespace, name string, secrets Secrets) (*dynamic.CertificateEntry, *Problem) {
	pair, problem := p.KeyPair(namespace, name, secrets)
	if problem != nil {
		return nil, problem
	}
	return &dynamic.CertificateEntry{Name: namespace + "/" + name, Certificate: pair}, nil
}

// Forget drops what was read, so that no deleted Secret stays in memory. It is for the end of a round of translations.
func (p *Pairs) Forget() { clear(p.read) }
