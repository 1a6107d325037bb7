package webhook

import (
	"cmp"
	"encoding/json"
	"sync/atomic"

	"golang.org/x/time/rate"
	admissionv1 "k8s.io/api/admission/v1"
)

// lineLimit limits lines of a log that senders can cause.
type lineLimit struct {
	limiter *rate.Limiter
	left    atomic.Int64 // lines that were not logged since the last one
}

// newLineLimit allows that many lines in a second, and at once.
func newLineLimit(lines int) *lineLimit {
	return &lineLimit{limiter: rate.NewLimiter(rate.Limit(lines), lines)}
}

// allow reports whether a line may be logged, and how many were not before it.
func (l *lineLimit) allow() (before int64, ok bool) {
	if !l.limiter.Allow() {
		l.left.Add(1)
		return 0, false
	}
	return l.left.Swap(0), true
}

// podName is the name of a pod, or what its name begins with, for logs. The pod is read only where the line is logged.
type podName struct{ request *admissionv1.AdmissionRequest }

// String implements fmt.Stringer.
func (n podName) String() string {
	if n.request.Name != "" {
		return printable(n.request.Name, maxLogged)
	}
	var pod struct {
		Metadata struct{ Name, GenerateName string }
	}
	_ = json.Unmarshal(n.request.Object.Raw, &pod) // One that does not parse has no name.
	return printable(cmp.Or(pod.Metadata.Name, pod.Metadata.GenerateName), maxLogged)
}
