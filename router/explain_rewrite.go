package router

import (
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/middleware"
)

// targetRewriter is a [middleware.TargetRewriter] of a router, with its name.
type targetRewriter struct {
	name string
	step middleware.Middleware
}

// targetRewriters returns the target rewriters among the middlewares of a router, in their order.
func targetRewriters(names []string, steps []middleware.Middleware) []targetRewriter {
	var found []targetRewriter
	for i, step := range steps {
		if _, ok := step.(middleware.TargetRewriter); ok {
			found = append(found, targetRewriter{names[i], step})
		}
	}
	return found
}

// rewriteTarget calls the target rewriters of the router one after the other, and records the answer of the one that
// answers, or the path that they leave. It returns the request as they leave it.
func (r *Route) rewriteTarget(answer *Explanation, request *http.Request) *http.Request {
	before, _ := canonical.EscapedPath(request)
	for _, rewriter := range r.rewriters {
		response := &responseHead{header: http.Header{}}
		passed := false
		rewriter.step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, rewritten *http.Request) {
			passed, request = true, rewritten
		})).ServeHTTP(response, request)
		if passed {
			continue
		}
		answer.Status, answer.Location = response.status, response.header.Get("Location")
		answer.Reason = "middleware " + rewriter.name + " refuses the request"
		if answer.Location != "" {
			answer.Reason = "middleware " + rewriter.name + " redirects to " + answer.Location
		}
		return request
	}
	if after, _ := canonical.EscapedPath(request); after != before {
		answer.ForwardedPath = after
	}
	return request
}

// responseHead is a ResponseWriter that keeps status and header.
type responseHead struct {
	header http.Header
	status int
}

// Header returns the header.
func (h *responseHead) Header() http.Header { return h.header }

// WriteHeader keeps the status.
func (h *responseHead) WriteHeader(status int) { h.status = status }

// Write discards the body.
func (h *responseHead) Write(body []byte) (int, error) { return len(body), nil }
