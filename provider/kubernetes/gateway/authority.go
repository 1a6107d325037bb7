package gateway

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

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
	text := ""
	if config, found := p.watches.configMaps.Get(to.Namespace, to.Name); found {
		text = config.Data["ca.crt"]
	}
	valid, err := validCertificates(text)
	switch {
	case valid == "" && err == nil:
		return "", &Refusal{
			string(gatewayv1.ListenerReasonInvalidCACertificateRef), "ConfigMap " + to.String() +
				" has no certificates of authorities in ca.crt",
		}
	case err != nil:
		return valid, &Refusal{
			string(gatewayv1.ListenerReasonInvalidCACertificateRef), "ConfigMap " + to.String() + ", ca.crt: " + err.Error(),
		}
	}
	return valid, nil
}

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
