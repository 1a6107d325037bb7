package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reviewKind is the kind of requests and answers.
const reviewKind = "AdmissionReview"

// httpError is an answer without a review.
type httpError struct {
	status int
	text   string
}

// Error returns the text of the answer.
func (e *httpError) Error() string { return e.text }

func badRequest(format string, values ...any) error {
	return &httpError{http.StatusBadRequest, fmt.Sprintf(format, values...)}
}

// decode reads an AdmissionReview. Both versions have the same fields, so that v1 stands for both.
func decode(body []byte) (*admissionv1.AdmissionReview, error) {
	if len(body) == 0 {
		return nil, badRequest("no body found")
	}
	review := &admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, review); err != nil {
		return nil, badRequest("the body is not an %s: %v", reviewKind, err)
	}
	switch {
	case review.Kind != reviewKind:
		return nil, badRequest("the body has the kind %.60q, expected %s", review.Kind, reviewKind)
	case review.APIVersion != admissionv1.SchemeGroupVersion.String() &&
		review.APIVersion != admissionv1beta1.SchemeGroupVersion.String():
		return nil, badRequest("the body has the apiVersion %.60q, expected %s or %s", review.APIVersion,
			admissionv1.SchemeGroupVersion, admissionv1beta1.SchemeGroupVersion)
	case review.Request == nil:
		return nil, badRequest("the %s has no request", reviewKind)
	}
	return review, nil
}

// encode returns the answer to a review, in the version of its request.
func encode(review *admissionv1.AdmissionReview, answer *admissionv1.AdmissionResponse) ([]byte, error) {
	answer.UID = review.Request.UID
	return json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: review.APIVersion, Kind: reviewKind}, Response: answer,
	})
}

// isPod reports whether a request is about a new pod itself, and not about another kind or a subresource.
func isPod(request *admissionv1.AdmissionRequest) bool {
	return request.Resource == metav1.GroupVersionResource{Version: "v1", Resource: "pods"} &&
		request.SubResource == "" && request.Operation == admissionv1.Create
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	if known, ok := errors.AsType[*httpError](err); ok {
		return known.status
	}
	return http.StatusInternalServerError
}
