package client

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// lastApplied is the annotation in which kubectl keeps a copy of the whole object.
const lastApplied = corev1.LastAppliedConfigAnnotation

// AnnotationRule is the annotation of Services by which KT-env changed its routes. Sluice does not apply it, and says
// so.
const AnnotationRule = "kt-virtual-environment/rule"

// stripService keeps the ports, how the Service is reached, the annotations that configure Sluice, and AnnotationRule.
func stripService(service *corev1.Service) {
	annotations := service.Annotations
	stripMeta(&service.ObjectMeta)
	service.Annotations = ownAnnotations(annotations)
	if rule, ok := annotations[AnnotationRule]; ok {
		if service.Annotations == nil {
			service.Annotations = map[string]string{}
		}
		service.Annotations[AnnotationRule] = rule
	}
	service.Spec = corev1.ServiceSpec{
		Type: service.Spec.Type, Ports: service.Spec.Ports, ExternalName: service.Spec.ExternalName,
		ClusterIP: service.Spec.ClusterIP, ClusterIPs: service.Spec.ClusterIPs,
	}
	service.Status.Conditions = nil
}

// ownAnnotations returns the annotations that configure Sluice.
func ownAnnotations(annotations map[string]string) map[string]string {
	var own map[string]string
	for name, value := range annotations {
		prefix, _, _ := strings.Cut(name, "/")
		if !strings.HasSuffix(prefix, "traefik.io") && prefix != "traefik.ingress.kubernetes.io" &&
			!strings.HasSuffix(prefix, "sluice.dev") {
			continue
		}
		if own == nil {
			own = map[string]string{}
		}
		own[name] = value
	}
	return own
}

// stripSlice keeps addresses, ports, conditions, zones, and which pod it is.
func stripSlice(slice *discoveryv1.EndpointSlice) {
	service := slice.Labels[discoveryv1.LabelServiceName]
	stripMeta(&slice.ObjectMeta)
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: service}
	for i := range slice.Ports {
		slice.Ports[i].AppProtocol = nil
	}
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		endpoint.Hostname, endpoint.NodeName, endpoint.DeprecatedTopology = nil, nil, nil
		if pod := endpoint.TargetRef; pod != nil {
			endpoint.TargetRef = &corev1.ObjectReference{Kind: pod.Kind, UID: pod.UID}
		}
	}
}

// stripSecret keeps type and keys, and the values that are used: that of a single key, and of several those of
// certificates, authorities and logins. Others are not held in memory.
func stripSecret(secret *corev1.Secret) {
	stripMeta(&secret.ObjectMeta)
	if len(secret.Data) == 1 {
		return
	}
	for key := range secret.Data {
		switch key {
		case corev1.TLSCertKey, corev1.TLSPrivateKeyKey, "tls.ca", "ca.crt", corev1.BasicAuthUsernameKey,
			corev1.BasicAuthPasswordKey:
		default:
			secret.Data[key] = nil
		}
	}
}

// stripConfigMap keeps the certificates of authorities.
func stripConfigMap(config *corev1.ConfigMap) {
	stripMeta(&config.ObjectMeta)
	maps.DeleteFunc(config.Data, func(key, _ string) bool { return key != "ca.crt" && key != "tls.ca" })
	if len(config.Data) == 0 {
		config.Data = nil
	}
	config.BinaryData = nil
}

// stripNode keeps the addresses.
func stripNode(node *corev1.Node) {
	stripMeta(&node.ObjectMeta)
	node.Spec = corev1.NodeSpec{}
	node.Status = corev1.NodeStatus{Addresses: node.Status.Addresses}
}

// stripIngress keeps everything but labels and kubectl's annotation.
func stripIngress(ingress *networkingv1.Ingress) {
	annotations := ingress.Annotations
	stripMeta(&ingress.ObjectMeta)
	delete(annotations, lastApplied)
	ingress.Annotations = annotations
}

// stripIngressClass keeps everything but labels and kubectl's annotation.
func stripIngressClass(class *networkingv1.IngressClass) {
	annotations := class.Annotations
	stripMeta(&class.ObjectMeta)
	delete(annotations, lastApplied)
	class.Annotations = annotations
}
