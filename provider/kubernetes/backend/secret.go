package backend

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

func keyPair(namespace, name string, secret *corev1.Secret) (dynamic.Certificate, *Problem) {
	if secret == nil {
		return dynamic.Certificate{}, noSecret(namespace, name)
	}
	certificate, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	switch {
	case len(certificate) == 0 && len(key) == 0:
		return dynamic.Certificate{}, wrong(dynamic.CodeInvalidCertificate, "Secret %s/%s holds neither tls.crt nor tls.key",
			namespace, name)
	case len(certificate) == 0:
		return dynamic.Certificate{}, wrong(dynamic.CodeInvalidCertificate, "Secret %s/%s holds no tls.crt", namespace, name)
	case len(key) == 0:
		return dynamic.Certificate{}, wrong(dynamic.CodeInvalidCertificate, "Secret %s/%s holds no tls.key", namespace, name)
	}
	if _, err := document.KeyPair(certificate, key); err != nil {
		// The errors contain blocks and types, but no content.
		return dynamic.Certificate{}, wrong(dynamic.CodeInvalidCertificate,
			"Secret %s/%s: tls.crt and tls.key are no certificate with its key: %s",
			namespace, name, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return dynamic.Certificate{CertFile: string(certificate), KeyFile: string(key)}, nil
}

func noSecret(namespace, name string) *Problem {
	return missing(dynamic.CodeMissingSecret, "Secret %s/%s does not exist", namespace, name)
}
