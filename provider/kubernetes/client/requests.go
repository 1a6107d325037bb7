package client

import (
	"context"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// requests are the two requests by which a reflector reads a resource: list and watch. It remembers which of them were
// refused during one attempt.
//
// A reflector first asks for one watch that begins with everything that is there, which costs both sides the memory of
// one object at a time, and lists when the API server cannot do that.
type requests struct {
	*cache.ListWatch
	client rest.Interface
	feed   *feed

	refused []string // verbs
	// doomed is why the watch has failed, if listing is bound to fail for the same reason.
	doomed error
}

func newRequests(client rest.Interface, of *feed) *requests {
	narrow := func(options *metav1.ListOptions) {
		options.FieldSelector, options.LabelSelector = of.target.fields, of.target.labels
	}
	return &requests{
		ListWatch: cache.NewFilteredListWatchFromClient(client, of.target.resource, of.target.namespace, narrow),
		client:    client,
		feed:      of,
	}
}

// verbs returns what was refused in this attempt, in order.
func (r *requests) verbs() []string { return slices.Compact(slices.Sorted(slices.Values(r.refused))) }

// begin forgets the last attempt.
func (r *requests) begin() { r.refused, r.doomed = nil, nil }

// ListWithContext lists what is there.
func (r *requests) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if r.doomed != nil {
		return nil, r.doomed
	}
	list, of := r.feed.newList(), r.feed.target
	options.FieldSelector, options.LabelSelector = of.fields, of.labels
	err := r.client.Get().Namespace(of.namespace).Resource(of.resource).
		VersionedParams(&options, metav1.ParameterCodec).Do(ctx).Into(list)
	if apierrors.IsForbidden(err) {
		r.refused = append(r.refused, "list")
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// WatchWithContext begins to watch.
func (r *requests) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	changes, err := r.ListWatch.WatchWithContext(ctx, options)
	switch {
	case err == nil:
		r.feed.granted()
	case apierrors.IsForbidden(err):
		r.refused = append(r.refused, "watch")
	case options.SendInitialEvents != nil && !answeredByClient(err):
		r.doomed = err
		if utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) {
			// A reflector that recognises these waits without looking at its context. The feed's own pause does look.
			return nil, errors.New(err.Error())
		}
	}
	return changes, err
}

// answeredByClient reports whether the API server has answered, and means that the request was wrong.
func answeredByClient(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}
