package gateway

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// authority returns the valid certificates of an authority in a ConfigMap, and what is wrong with the reference or
// with the other certificates. It is empty where there is none.
func (p *Provider) authority(
	result *translation.Result, kind, namespace string, ref *gatewayv1.ObjectReference,
) (string, *Refusal) {
	if ref.Group != "" && ref.Group != "core" || string(ref.Kind) != backend.KindConfigMap {
		return "", &Refusal{
			string(gatewayv1.ListenerReasonInvalidCACertificateKind), "certificates of authorities are in ConfigMaps, not in " +
				"objects of the kind " + string(ref.Kind),
		}
	}
	to := types.NamespacedName{
		Namespace: string(valueOf(ref.Namespace, gatewayv1.Namespace(namespace))), Name: string(ref.Name),
	}
	if !p.granted(result, reference{kind, namespace, "", backend.KindConfigMap, to}) {
		return "", &Refusal{
			string(gatewayv1.ListenerReasonRefNotPermitted), "no ReferenceGrant permits the reference to ConfigMap " + to.String(),
		}
	}
	result.AddNeed(backend.KindConfigMap, to.Namespace, to.Name)
	config, _ := p.watches.configMaps.Get(to.Namespace, to.Name)
	valid, wrong := p.authorities.of(config)
	if wrong == "" {
		return valid, nil
	}
	return valid, &Refusal{
		string(gatewayv1.ListenerReasonInvalidCACertificateRef), "ConfigMap " + to.String() + wrong,
	}
}

// authorities are the certificates of ConfigMaps. Each is parsed once in an update, since thousands of routes may lead
// to Services whose policies name the same one. The zero value is ready for use.
type authorities struct {
	read map[*corev1.ConfigMap]bundle
}

// bundle is what came of one ConfigMap: its valid certificates, and what is wrong with it, to follow its name.
type bundle struct{ valid, wrong string }

// of returns the valid certificates of a ConfigMap, which is nil where there is none, and what is wrong.
func (a *authorities) of(config *corev1.ConfigMap) (valid, wrong string) {
	known, found := a.read[config]
	if !found {
		text := ""
		if config != nil {
			text = config.Data["ca.crt"]
		}
		var err error
		known.valid, err = validCertificates(text)
		switch {
		case err != nil:
			known.wrong = ", ca.crt: " + err.Error()
		case known.valid == "":
			known.wrong = " has no certificates of authorities in ca.crt"
		}
		if a.read == nil {
			a.read = map[*corev1.ConfigMap]bundle{}
		}
		a.read[config] = known
	}
	return known.valid, known.wrong
}

// forget drops what was read, for the end of an update.
func (a *authorities) forget() { clear(a.read) }

// validCertificates returns the certificates of a text in PEM that can be parsed, without what is around them, and
// what is wrong with the first one that cannot.
func validCertificates(text string) (valid string, wrong error) {
	var all strings.Builder
	number := 0
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		number++
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			if wrong == nil {
				wrong = fmt.Errorf("certificate %d is not valid: %w", number, err)
			}
			continue
		}
		all.Write(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
	}
	return all.String(), wrong
}
