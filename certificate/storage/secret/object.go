package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

const (
	// resource is the resource of Secrets in URLs and RBAC rules.
	resource = "secrets"
	// label has the kind of value.
	label = "sluice.dev/certificates"
	// annotationKey has the encoded key of the value.
	annotationKey = "sluice.dev/key"
	// annotationResolver has the name of the resolver.
	annotationResolver = "sluice.dev/resolver"
	// annotationNames has the names of a certificate, the main one first, with commas between.
	annotationNames = "sluice.dev/names"
	// dataValue is the key of a value in a Secret that is no certificate.
	dataValue = "value"
)

// nameOf returns the name of the Secret for a key.
func nameOf(key storage.Key) string {
	sum := sha256.Sum256([]byte(storage.EncodeKey(key)))
	return "sluice-" + string(key.Kind) + "-" + hex.EncodeToString(sum[:16])
}

// encode returns the Secret for a value.
func encode(key storage.Key, value []byte) (*corev1.Secret, error) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: nameOf(key), Labels: map[string]string{label: string(key.Kind)},
			Annotations: map[string]string{annotationKey: storage.EncodeKey(key)},
		},
		Type: corev1.SecretTypeOpaque, Data: map[string][]byte{dataValue: value},
	}
	if key.Resolver != "" && utf8.ValidString(key.Resolver) {
		secret.Annotations[annotationResolver] = key.Resolver
	}
	if key.Kind != storage.KindCertificate {
		return secret, nil
	}
	var c storage.Certificate
	if err := json.Unmarshal(value, &c); err != nil {
		return nil, errors.New("the value is not JSON of a certificate")
	}
	if key.ID != storage.CertificateID(c.Names()) {
		return nil, errors.New("the certificate has the ID of another one")
	}
	secret.Annotations[annotationNames] = strings.Join(c.Names(), ",")
	secret.Type = corev1.SecretTypeTLS
	secret.Data = map[string][]byte{corev1.TLSCertKey: []byte(c.Chain), corev1.TLSPrivateKeyKey: []byte(c.Key)}
	return secret, nil
}

// decode returns what a Secret holds.
func decode(secret *corev1.Secret) (storage.Key, []byte, error) {
	key, err := storage.DecodeKey(secret.Annotations[annotationKey])
	if err != nil {
		return storage.Key{}, nil, errors.New("the annotation " + annotationKey + " is wrong: " + err.Error())
	}
	if secret.Name != nameOf(key) {
		return storage.Key{}, nil, errors.New("the annotation " + annotationKey + " is that of another Secret")
	}
	if key.Kind != storage.KindCertificate {
		return key, append([]byte{}, secret.Data[dataValue]...), nil
	}
	names := strings.Split(secret.Annotations[annotationNames], ",")
	if key.ID != storage.CertificateID(names) {
		return storage.Key{}, nil, errors.New("the annotation " + annotationNames + " is wrong")
	}
	c := storage.Certificate{
		Main: names[0], Chain: string(secret.Data[corev1.TLSCertKey]), Key: string(secret.Data[corev1.TLSPrivateKeyKey]),
	}
	if len(names) > 1 {
		c.SANs = names[1:]
	}
	value, err := json.Marshal(c)
	return key, value, err
}
