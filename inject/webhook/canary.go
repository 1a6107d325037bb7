package webhook

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CanaryAnnotation is on a pod that is created as a dry run to prove that pods are injected. Its value is a random
// text, which the webhook repeats in CanaryResultAnnotation if, and only if, it injects the pod.
const (
	CanaryAnnotation       = "inject.sluice.dev/canary"
	CanaryResultAnnotation = "inject.sluice.dev/canary-result"
)

// canaryResultPath is CanaryResultAnnotation in a JSON patch.
const canaryResultPath = "/metadata/annotations/inject.sluice.dev~1canary-result"

// MarkCanary returns a patch that also marks a canary as injected; the patch of another pod is returned as it is.
func MarkCanary(pod, patch []byte) ([]byte, error) {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(pod, &object); err != nil {
		return nil, fmt.Errorf("the pod: %w", err)
	}
	proof := object.Annotations[CanaryAnnotation]
	if proof == "" {
		return patch, nil
	}
	var operations []json.RawMessage
	if err := json.Unmarshal(patch, &operations); err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}
	mark, err := json.Marshal(map[string]string{"op": "add", "path": canaryResultPath, "value": proof})
	if err != nil {
		return nil, err
	}
	return json.Marshal(append(operations, mark))
}
