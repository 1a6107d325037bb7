package inject

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
)

// mutator starts a webhook that adds a container named extra to pods that have none, and returns its URL and caBundle.
func mutator(t *testing.T) (address string, bundle []byte) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var pod corev1.Pod
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		if err := json.Unmarshal(review.Request.Object.Raw, &pod); err != nil {
			t.Error(err)
			return
		}
		answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if len(pod.Spec.Containers) == 1 {
			kind := admissionv1.PatchTypeJSONPatch
			answer.PatchType = &kind
			answer.Patch = []byte(`[{"op":"add","path":"/spec/containers/-","value":{"name":"extra","image":"extra"}}]`)
		}
		review.Request, review.Response = nil, answer
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return strings.Replace(server.URL, "localhost", "127.0.0.1", 1), certificate
}
