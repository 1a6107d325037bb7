package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Injector decides about one pod; *inject.Configuration does.
type Injector interface {
	// Inject returns the decision about a pod. It fails for a pod that does not parse and for a template that does not
	// apply.
	Inject(input inject.Input) (inject.Result, error)
}

// Recorder records decisions at the owner of a pod; *Events does.
type Recorder interface {
	// Record returns at once.
	Record(decision Decision)
}

// Meter counts; *metrics.Injector does.
type Meter interface {
	// Reviewed counts a review and its duration. The result is one of the Result constants.
	Reviewed(result string, took time.Duration)
	// Skipped counts a pod that was not injected, by the code of the reason.
	Skipped(reason string)
	// Refused counts a request that was answered with an HTTP error.
	Refused(status int)
}

// Result is what became of a review.
type Result string

// The results of reviews.
const (
	// ResultInjected is for a pod that was injected.
	ResultInjected Result = "injected"
	// ResultSkipped is for a pod that was not, for a reason.
	ResultSkipped Result = "skipped"
	// ResultFailed is for a pod about which the injector failed: it was admitted as it is, or refused.
	ResultFailed Result = "failed"
	// ResultOther is for an object that is no new pod.
	ResultOther Result = "other"
)

// OnError is what becomes of a pod when injection fails.
type OnError string

const (
	// Allow admits the pod as it is, with a warning; it is the default.
	Allow OnError = "allow"
	// Deny refuses the pod.
	Deny OnError = "deny"
)

// Options are the dependencies of a Handler.
type Options struct {
	// Injector returns the current one; nil as long as there is none. It is needed.
	Injector func() Injector
	// OnError is Allow by default.
	OnError OnError
	// NativeSidecars is passed to the injector.
	NativeSidecars bool
	// MaxConcurrent bounds the reviews that are answered at once; 0 is 64.
	MaxConcurrent int
	// Events is nil where decisions are not recorded.
	Events Recorder
	// Meter and Logger are needed.
	Meter  Meter
	Logger telemetry.Logger
}

// defaultConcurrent is the default of Options.MaxConcurrent.
const defaultConcurrent = 64

// Handler answers reviews at /inject and below. Its methods may be called from any goroutine.
type Handler struct {
	options Options
	limit   *limiter
	counts  counts
	// refusals limits the lines about refused requests, failures those about pods that are not injected because of an
	// error.
	refusals, failures *lineLimit
}

const (
	// linesLogged is the number of lines about refused requests in a second, and at once, and of those about failures.
	linesLogged = 3
	// maxLogged is the size of what is logged of a request or an error, in bytes: senders are not authenticated.
	maxLogged = 253
)

// NewHandler returns a handler.
func NewHandler(options Options) *Handler {
	if options.MaxConcurrent <= 0 {
		options.MaxConcurrent = defaultConcurrent
	}
	return &Handler{
		options: options, limit: newLimiter(options.MaxConcurrent),
		refusals: newLineLimit(linesLogged), failures: newLineLimit(linesLogged),
	}
}

// ServeHTTP answers one review. Requests that are none are answered with an HTTP error, upon which the API server does
// what failurePolicy says.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := h.serve(w, r)
	if err != nil {
		status := statusOf(err)
		h.options.Meter.Refused(status)
		h.counts.refuse()
		h.logRefusal(status, r.RemoteAddr, err)
		switch status {
		case http.StatusMethodNotAllowed:
			w.Header().Set("Allow", http.MethodPost)
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // The API server may have given up.
}

// logRefusal logs a refused request, unless there are too many.
func (h *Handler) logRefusal(status int, from string, err error) {
	before, ok := h.refusals.allow()
	if !ok {
		return
	}
	h.options.Logger.Warn("a request to the webhook is refused", "status", status, "from", from, "error",
		printable(err.Error(), maxLogged), "notLoggedBefore", before)
}

// serve returns the answer to a request. A panic is an error.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) (answer []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			h.options.Logger.Error("answering a review has panicked", "cause", printable(fmt.Sprint(cause), maxLogged),
				"stack", string(debug.Stack()))
			answer, err = nil, errors.New("internal error")
		}
	}()
	variables, err := accept(r)
	if err != nil {
		return nil, err
	}
	body, release, err := h.limit.admit(w, r)
	if err != nil {
		return nil, err
	}
	defer release()
	review, err := decode(body)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	response, result, err := h.review(review.Request, variables)
	if err != nil {
		return nil, err
	}
	h.options.Meter.Reviewed(string(result), time.Since(began))
	return encode(review, response)
}

// accept checks everything but the body, and returns the variables of the path.
func accept(r *http.Request) ([]inject.KeyValue, error) {
	variables, ok := environment(r.URL.EscapedPath())
	if !ok {
		return nil, &httpError{http.StatusNotFound, "no such path"}
	}
	if r.Method != http.MethodPost {
		return nil, &httpError{http.StatusMethodNotAllowed, "only POST is allowed"}
	}
	if r.ContentLength == 0 {
		return nil, badRequest("no body found")
	}
	const json = "application/json"
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != json {
		return nil, &httpError{http.StatusUnsupportedMediaType, "the body must be " + json}
	}
	if r.ContentLength > maxBody {
		return nil, errTooLarge()
	}
	return variables, nil
}

func errTooLarge() error {
	return &httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", maxBody)}
}

// review decides about one object.
func (h *Handler) review(request *admissionv1.AdmissionRequest, variables []inject.KeyValue) (
	*admissionv1.AdmissionResponse, Result, error,
) {
	if !isPod(request) {
		return &admissionv1.AdmissionResponse{Allowed: true}, ResultOther, nil
	}
	injector := h.options.Injector()
	if injector == nil {
		return nil, "", &httpError{http.StatusServiceUnavailable, "there is no configuration yet"}
	}
	decided, err := injector.Inject(inject.Input{
		Pod: request.Object.Raw, Namespace: request.Namespace, Environment: variables,
		NativeSidecars: h.options.NativeSidecars,
	})
	if err != nil {
		return h.failed(request, err), ResultFailed, nil
	}
	answer := &admissionv1.AdmissionResponse{Allowed: true, Warnings: bounded(decided.Warnings)}
	result := ResultSkipped
	if decided.Injected {
		result = ResultInjected
	}
	if decided.Injected && len(decided.Patch) > 0 {
		kind := admissionv1.PatchTypeJSONPatch
		answer.Patch, answer.PatchType = decided.Patch, &kind
		if dryRun(request) {
			if answer.Patch, err = MarkCanary(request.Object.Raw, decided.Patch); err != nil {
				return h.failed(request, err), ResultFailed, nil
			}
		}
	}
	h.note(request, decided)
	return answer, result, nil
}

// failed returns the answer for a pod about which the injector has failed.
func (h *Handler) failed(request *admissionv1.AdmissionRequest, err error) *admissionv1.AdmissionResponse {
	h.counts.fail()
	if before, ok := h.failures.allow(); ok {
		h.options.Logger.Error("a pod is not injected because of an error", "namespace",
			printable(request.Namespace, maxLogged), "pod", podName{request}, "admitted", h.options.OnError != Deny, "error",
			printable(err.Error(), maxLogged), "notLoggedBefore", before)
	}
	text := "sluice injector: " + err.Error()
	if h.options.OnError == Deny {
		return &admissionv1.AdmissionResponse{Result: &metav1.Status{
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError,
			Message: printable(text, maxMessage),
		}}
	}
	return &admissionv1.AdmissionResponse{Allowed: true, Warnings: bounded([]string{text})}
}

// maxMessage is the size of the message with which a pod is refused, in bytes.
const maxMessage = 1024

// note counts, logs and records a decision. A dry run leaves no trace but the counters.
func (h *Handler) note(request *admissionv1.AdmissionRequest, decided inject.Result) {
	if decided.Injected {
		h.counts.inject()
	} else {
		h.counts.skip(printable(request.Namespace, maxLogged), string(decided.Reason.Code))
		h.options.Meter.Skipped(string(decided.Reason.Code))
	}
	h.options.Logger.Debug("a pod was reviewed", "namespace", printable(request.Namespace, maxLogged), "pod",
		podName{request}, "injected", decided.Injected, "reason", string(decided.Reason.Code), "templates",
		decided.Templates, "dryRun", dryRun(request))
	if h.options.Events == nil || dryRun(request) {
		return
	}
	var pod metav1.ObjectMeta
	if decided.Metadata != nil {
		pod = *decided.Metadata
	}
	pod.Name, pod.Namespace = cmp.Or(pod.Name, request.Name), request.Namespace
	h.options.Events.Record(Decision{
		Pod: pod, Injected: decided.Injected, Reason: decided.Reason, Templates: decided.Templates,
	})
}

func dryRun(request *admissionv1.AdmissionRequest) bool {
	return request.DryRun != nil && *request.DryRun
}
