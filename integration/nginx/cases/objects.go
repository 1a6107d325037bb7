package cases

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kindLine is where an object says what it is.
var kindLine = regexp.MustCompile(`(?m)^kind: (\S+)$`)

// parseObjects reads YAML documents.
func parseObjects(text string) (o Objects, err error) {
	for number, document := range strings.Split(text, "\n---\n") {
		kind := ""
		if found := kindLine.FindStringSubmatch(document); found != nil {
			kind = found[1]
		}
		switch kind {
		case "Ingress":
			err = add(document, &o.Ingresses, new(networkingv1.Ingress))
		case "IngressClass":
			err = add(document, &o.Classes, new(networkingv1.IngressClass))
		case "Service":
			err = add(document, &o.Services, new(corev1.Service))
		case "Secret":
			err = add(document, &o.Secrets, new(corev1.Secret))
		case "ConfigMap":
			err = add(document, &o.ConfigMaps, new(corev1.ConfigMap))
		case "Namespace":
			err = add(document, &o.Namespaces, new(corev1.Namespace))
		default:
			err = fmt.Errorf("unknown kind %q", kind)
		}
		if err != nil {
			return o, fmt.Errorf("document %d: %w", number+1, err)
		}
	}
	o.complete()
	return o, nil
}

// add reads an object strictly.
func add[T any](document string, all *[]T, object T) error {
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		return err
	}
	*all = append(*all, object)
	return nil
}

// complete sets what the API server would.
func (o *Objects) complete() {
	born := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, ingress := range o.Ingresses {
		namespaced(&ingress.ObjectMeta)
		if ingress.CreationTimestamp.IsZero() {
			ingress.CreationTimestamp = metav1.NewTime(born.Add(time.Duration(i) * time.Second))
		}
	}
	for _, service := range o.Services {
		namespaced(&service.ObjectMeta)
	}
	for _, config := range o.ConfigMaps {
		namespaced(&config.ObjectMeta)
	}
	for _, secret := range o.Secrets {
		namespaced(&secret.ObjectMeta)
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		for key, value := range secret.StringData {
			secret.Data[key] = []byte(value)
		}
		secret.StringData = nil
	}
}

func namespaced(meta *metav1.ObjectMeta) {
	if meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault
	}
	meta.UID = "" // Objects are told apart by their names.
}
