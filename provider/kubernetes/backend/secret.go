package backend

import (
	"bufio"
	"bytes"
	"crypto/sha1" //nolint:gosec // The form {SHA} of password files is made of it.
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Certificate returns the certificate of a TLS Secret for clients to see, as inline PEM under the name NAMESPACE/NAME.
func Certificate(namespace, name string, secrets Secrets) (*dynamic.CertificateEntry, *Problem) {
	pair, problem := KeyPair(namespace, name, secrets)
	if problem != nil {
		return nil, problem
	}
	return &dynamic.CertificateEntry{Name: namespace + "/" + name, Certificate: pair}, nil
}

// KeyPair returns the certificate and the key of a Secret (tls.crt and tls.key) as inline PEM. They have been found to
// belong together; whether the certificate has expired plays no part.
func KeyPair(namespace, name string, secrets Secrets) (dynamic.Certificate, *Problem) {
	secret := secrets.Secret(namespace, name)
	if secret == nil {
		return dynamic.Certificate{}, noSecret(namespace, name)
	}
	certificate, key := secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]
	switch {
	case len(certificate) == 0 && len(key) == 0:
		return dynamic.Certificate{}, wrong("Secret %s/%s holds neither tls.crt nor tls.key", namespace, name)
	case len(certificate) == 0:
		return dynamic.Certificate{}, wrong("Secret %s/%s holds no tls.crt", namespace, name)
	case len(key) == 0:
		return dynamic.Certificate{}, wrong("Secret %s/%s holds no tls.key", namespace, name)
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		// These errors speak of blocks and types, never of what is in them.
		return dynamic.Certificate{}, wrong("Secret %s/%s: tls.crt and tls.key are no certificate with its key: %s",
			namespace, name, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return dynamic.Certificate{CertFile: string(certificate), KeyFile: string(key)}, nil
}

// The keys of authorities' certificates.
const (
	keyTLSCA = "tls.ca"
	keyCACRT = "ca.crt"
)

// Authority returns the certificates of authorities in a Secret (tls.ca, else ca.crt) as inline PEM.
func Authority(namespace, name string, secrets Secrets) (string, *Problem) {
	secret := secrets.Secret(namespace, name)
	if secret == nil {
		return "", noSecret(namespace, name)
	}
	text := secret.Data[keyTLSCA]
	if len(text) == 0 {
		text = secret.Data[keyCACRT]
	}
	return authority(string(text), "Secret", namespace, name)
}

// AuthorityOfConfigMap returns the certificates of authorities in a ConfigMap (tls.ca, else ca.crt) as inline PEM.
func AuthorityOfConfigMap(namespace, name string, maps ConfigMaps) (string, *Problem) {
	object := maps.ConfigMap(namespace, name)
	if object == nil {
		return "", missing("ConfigMap %s/%s does not exist", namespace, name)
	}
	text := object.Data[keyTLSCA]
	if text == "" {
		text = object.Data[keyCACRT]
	}
	return authority(text, "ConfigMap", namespace, name)
}

func authority(text, kind, namespace, name string) (string, *Problem) {
	if text == "" {
		return "", wrong("%s %s/%s holds neither tls.ca nor ca.crt", kind, namespace, name)
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		return "", wrong("%s %s/%s holds no certificate of an authority in PEM", kind, namespace, name)
	}
	return text, nil
}

// BasicUsers returns the users of a Secret as lines USER:HASH: the one of a Secret of type kubernetes.io/basic-auth
// (username and password), else the lines of its only key.
func BasicUsers(namespace, name string, secrets Secrets) ([]string, *Problem) {
	secret := secrets.Secret(namespace, name)
	if secret == nil {
		return nil, noSecret(namespace, name)
	}
	if secret.Type != corev1.SecretTypeBasicAuth {
		return usersOf(secret)
	}
	user, password := string(secret.Data[corev1.BasicAuthUsernameKey]), secret.Data[corev1.BasicAuthPasswordKey]
	switch {
	case user == "" || len(password) == 0:
		return nil, wrong("Secret %s/%s of type %s lacks a username or a password", namespace, name, secret.Type)
	case strings.ContainsAny(user, ":\r\n"):
		return nil, wrong("Secret %s/%s has a username with a colon or a line break", namespace, name)
	}
	sum := sha1.Sum(password) //nolint:gosec // As above.
	return []string{user + ":{SHA}" + base64.StdEncoding.EncodeToString(sum[:])}, nil
}

// DigestUsers returns the users of a Secret as lines USER:REALM:HASH, which its only key holds.
func DigestUsers(namespace, name string, secrets Secrets) ([]string, *Problem) {
	secret := secrets.Secret(namespace, name)
	if secret == nil {
		return nil, noSecret(namespace, name)
	}
	return usersOf(secret)
}

// usersOf returns the lines of the only key of a Secret, without empty ones and comments.
func usersOf(secret *corev1.Secret) ([]string, *Problem) {
	if len(secret.Data) != 1 {
		return nil, wrong("Secret %s/%s holds %d keys; exactly one with the users is expected",
			secret.Namespace, secret.Name, len(secret.Data))
	}
	var users []string
	for _, text := range slices.Collect(maps.Values(secret.Data)) {
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, len(text)+1)
		for lines.Scan() {
			if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
				users = append(users, line)
			}
		}
	}
	if len(users) == 0 {
		return nil, wrong("Secret %s/%s holds no users", secret.Namespace, secret.Name)
	}
	return users, nil
}

func noSecret(namespace, name string) *Problem {
	return missing("Secret %s/%s does not exist", namespace, name)
}
