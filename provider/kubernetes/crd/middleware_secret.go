package crd

import (
	"crypto/sha1" //nolint:gosec // The form {SHA} of password files is made of it.
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// What stands in a Secret is never part of an error: errors name keys, and count. Each continues "Secret a/b".

// basicUsers returns the users of basicAuth as USER:HASH: the one of a Secret of type kubernetes.io/basic-auth, else a
// line each of the Secret's only key.
func basicUsers(secret *corev1.Secret) ([]string, error) {
	if secret.Type != corev1.SecretTypeBasicAuth {
		return usersOf(secret, 2)
	}
	user, password, err := login(secret)
	switch {
	case err != nil:
		return nil, err
	case user == "" || password == "":
		return nil, errors.New("has an empty username or password")
	case strings.ContainsAny(user, ":\r\n"):
		return nil, errors.New("has a username with a colon or a line break")
	}
	// The entry must come out the same each time, or the middleware would be a new one with every change of the Secret's
	// metadata. It stays in memory beside the password that it was made of, so a slow hash would protect nothing.
	sum := sha1.Sum([]byte(password)) //nolint:gosec // As above.
	return []string{user + ":{SHA}" + base64.StdEncoding.EncodeToString(sum[:])}, nil
}

// digestUsers returns the users of digestAuth as USER:REALM:HASH, a line each of a Secret's only key.
func digestUsers(secret *corev1.Secret) ([]string, error) { return usersOf(secret, 3) }

// usersOf returns the lines of a Secret's only key, each with a number of parts that colons separate.
func usersOf(secret *corev1.Secret, parts int) ([]string, error) {
	if len(secret.Data) != 1 {
		return nil, fmt.Errorf("holds %d keys; exactly one with the users is expected", len(secret.Data))
	}
	var users []string
	for _, content := range secret.Data {
		number := 0
		for line := range strings.Lines(string(content)) {
			number++
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			if fields := strings.Split(line, ":"); len(fields) != parts || fields[0] == "" || fields[parts-1] == "" {
				return nil, fmt.Errorf("holds no user in line %d; %d parts with a colon between them are expected", number, parts)
			}
			users = append(users, line)
		}
	}
	if len(users) == 0 {
		return nil, errors.New("holds no users")
	}
	return users, nil
}

// login returns what a Secret has under the keys of type kubernetes.io/basic-auth, whatever its own type.
func login(secret *corev1.Secret) (user, password string, err error) {
	for _, key := range []string{corev1.BasicAuthUsernameKey, corev1.BasicAuthPasswordKey} {
		if _, found := secret.Data[key]; !found {
			return "", "", fmt.Errorf("holds no %s", key)
		}
	}
	return string(secret.Data[corev1.BasicAuthUsernameKey]), string(secret.Data[corev1.BasicAuthPasswordKey]), nil
}

// The keys of authorities' certificates. The first one that is there counts.
const (
	keyAuthorities      = "tls.ca"
	keyAuthoritiesOther = "ca.crt"
)

// secretAuthorities returns the certificates of authorities as PEM. A Secret that has neither of the keys, and one
// other, is understood too.
func secretAuthorities(secret *corev1.Secret) (string, error) {
	for _, key := range []string{keyAuthorities, keyAuthoritiesOther} {
		if text, found := secret.Data[key]; found {
			return authorities(string(text))
		}
	}
	for _, only := range secret.Data {
		if len(secret.Data) == 1 {
			return authorities(string(only))
		}
	}
	return "", errNoAuthorities
}

// configMapAuthorities returns the certificates of authorities as PEM.
func configMapAuthorities(configMap *corev1.ConfigMap) (string, error) {
	for _, key := range []string{keyAuthorities, keyAuthoritiesOther} {
		if text, found := configMap.Data[key]; found {
			return authorities(text)
		}
	}
	return "", errNoAuthorities
}

var errNoAuthorities = fmt.Errorf("holds neither %s nor %s", keyAuthorities, keyAuthoritiesOther)

// authorities demands certificates. The options that they stand for take a path as well as PEM, and no Secret may make
// Sluice read a file of its own.
func authorities(text string) (string, error) {
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(text)) {
		return "", errors.New("holds no certificate of an authority in PEM")
	}
	return text, nil
}
