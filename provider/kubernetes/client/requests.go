package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const (
	// listTime is how long a list may take; an API server gives up after a minute.
	listTime = 2 * time.Minute
	// watchTime is the duration of a watch without a timeout of its own, and overtime how much longer a watch may last.
	// The API server ends a watch by itself. One that continues is stale: an intermediary keeps the connection open.
	watchTime = 10 * time.Minute
	overtime  = 30 * time.Second
	// mostStreams is how often one attempt begins a watch with the initial objects. A reflector restarts without a pause
	// after an expired version or an early end; an informer pauses.
	mostStreams = 3
)

// requests are the two requests of a reflector: list and watch. It records which were refused during one attempt.
//
// A reflector first requests one watch that begins with all objects, which needs memory for one object at a time on
// both sides, and lists if the API server does not support that.
type requests struct {
	*cache.ListWatch
	client   rest.Interface
	informer *informer

	refused []string // verbs
	streams int      // watches that began with everything that is there
	// doomed is why the watch has failed, if listing is bound to fail for the same reason.
	doomed error
}

func newRequests(client rest.Interface, of *informer) *requests {
	narrow := func(options *metav1.ListOptions) {
		options.FieldSelector, options.LabelSelector = of.target.fields, of.target.labels
	}
	return &requests{
		ListWatch: cache.NewFilteredListWatchFromClient(client, of.target.resource, of.target.namespace, narrow),
		client:    client,
		informer:  of,
	}
}

// verbs returns what was refused in this attempt, in order.
func (r *requests) verbs() []string { return slices.Compact(slices.Sorted(slices.Values(r.refused))) }

// begin resets the state of the last attempt.
func (r *requests) begin() { r.refused, r.streams, r.doomed = nil, 0, nil }

// ListWithContext lists what is there.
func (r *requests) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if r.doomed != nil {
		return nil, r.doomed
	}
	list, of := r.informer.newList(), r.informer.target
	options.FieldSelector, options.LabelSelector = of.fields, of.labels
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	request := r.client.Get().Namespace(of.namespace).Resource(of.resource).
		VersionedParams(&options, metav1.ParameterCodec)
	if of.metadata {
		request = listMetadata(request)
	}
	err := request.Do(ctx).Into(list)
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
	if options.SendInitialEvents != nil {
		if r.streams++; r.streams > mostStreams {
			return nil, errors.New("what is there cannot be streamed: the API server has ended the stream each time")
		}
	}
	ctx, cancel := context.WithTimeout(ctx, lasting(options)+overtime)
	changes, err := r.ListWatch.WatchWithContext(ctx, options)
	if err != nil {
		cancel()
		return nil, r.unwatched(err, options)
	}
	r.informer.granted()
	return &bounded{changes, cancel}, nil
}

// lasting returns the timeout of a watch.
func lasting(options metav1.ListOptions) time.Duration {
	if options.TimeoutSeconds == nil {
		return watchTime
	}
	return time.Duration(*options.TimeoutSeconds) * time.Second
}

// bounded is a watch that is cut off after some time. Who stops it ends the wait for that.
type bounded struct {
	watch.Interface
	cancel context.CancelFunc
}

// Stop ends the watch.
func (b *bounded) Stop() {
	b.Interface.Stop()
	b.cancel()
}

// unwatched records why a watch could not begin, and returns the error for the reflector.
func (r *requests) unwatched(err error, options metav1.ListOptions) error {
	switch {
	case apierrors.IsForbidden(err):
		r.refused = append(r.refused, "watch")
	case options.SendInitialEvents != nil && !answeredByClient(err):
		r.doomed = err
		if utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) {
			// A reflector that recognises these waits without looking at its context. The informer's own pause does look.
			return errors.New(err.Error())
		}
	}
	return err
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
