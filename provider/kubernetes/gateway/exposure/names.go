package exposure

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// LabelInstallation is the label of the Services and EndpointSlices that one installation of Sluice has created; its
	// value stands for the namespace of that installation and the name of its controller.
	LabelInstallation = "sluice.dev/gateways"
	// annotationApplied holds a digest of what was applied last.
	annotationApplied = "sluice.dev/applied"

	managedBy      = "app.kubernetes.io/managed-by"
	manager        = "sluice"
	prefix         = "sluice-"
	lengthOfDigest = 8
)

// digest returns a short name for texts, of hexadecimal digits.
func digest(length int, texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])[:length]
}

// identity returns the value of LabelInstallation.
func identity(namespace, controller string) string { return digest(10, namespace, controller) }

// serviceName returns the name of the Service of a Gateway, a DNS label whatever the name of the Gateway is.
func serviceName(identity string, name types.NamespacedName) types.NamespacedName {
	const room = validation.DNS1035LabelMaxLength - len(prefix) - 1 - lengthOfDigest
	text := strings.ReplaceAll(name.Name, ".", "-")
	text = strings.Trim(text[:min(len(text), room)], "-")
	return types.NamespacedName{
		Namespace: name.Namespace,
		Name:      prefix + text + "-" + digest(lengthOfDigest, identity, name.Namespace, name.Name),
	}
}

// labelValue returns the name of a Gateway as the value of a label: itself, unless it is too long for one.
func labelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	const room = validation.LabelValueMaxLength - 1 - lengthOfDigest
	return strings.TrimRight(name[:room], "-.") + "-" + digest(lengthOfDigest, name)
}
