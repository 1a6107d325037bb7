package client

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

const (
	// An attempt that fails is followed by the next one after about a quarter of a second, then a half, up to four
	// seconds.
	firstPause = 250 * time.Millisecond
	lastPause  = 4 * time.Second
	// steady is how long a stream must have lasted for the next pause to be a first one.
	steady = 10 * time.Second
)

// target is what one stream reads.
type target struct {
	version   schema.GroupVersion
	resource  string
	namespace string // Empty for all.
	fields    string
	labels    string
	// metadata says that the API server sends metadata alone.
	metadata bool
}

// String returns the resource as RBAC rules and messages name it: ingressroutes.traefik.io in namespace shop.
func (t target) String() string {
	name := t.resource
	if t.version.Group != "" {
		name += "." + t.version.Group
	}
	if t.namespace != "" {
		name += " in namespace " + t.namespace
	}
	return name
}

// sink is a store of any type.
type sink interface {
	cache.TransformingStore
	clear()
}

// informer keeps one store as the cluster has it.
type informer struct {
	cluster *Cluster
	target  target
	sample  runtime.Object
	newList func() runtime.Object
	store   sink
	status  status
}

// run reads the resource until ctx ends.
func (i *informer) run(ctx context.Context) {
	ctx = klog.NewContext(ctx, quiet(i.cluster.logger))
	var stream *stream
	pause := firstPause
	for ctx.Err() == nil {
		served, err := i.cluster.discovery.serves(ctx, i.target.version, i.target.resource)
		if err == nil && !served {
			stream, pause = nil, firstPause
			sleep(ctx, i.absent())
			continue
		}
		began := time.Now()
		if err == nil {
			if stream == nil {
				if stream, err = i.newStream(ctx); err != nil {
					i.failed(err)
					return
				}
			}
			err = stream.read(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		i.judge(err, stream)
		if time.Since(began) > steady {
			pause = firstPause
		}
		sleep(ctx, pause/2+rand.N(pause/2))
		pause = min(2*pause, lastPause)
	}
}

// sleep waits for the pause or the end of ctx.
func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// stream is the reflector of an informer: it goes on where it was after every interruption.
type stream struct {
	requests  *requests
	reflector *cache.Reflector
}

func (i *informer) newStream(ctx context.Context) (*stream, error) {
	client, err := i.cluster.restFor(i.target)
	if err != nil {
		return nil, err
	}
	requests := newRequests(client, i)
	logger := klog.FromContext(ctx)
	return &stream{requests: requests, reflector: cache.NewReflectorWithOptions(
		requests, i.sample, filling{i.store, i}, cache.ReflectorOptions{
			Logger:          &logger,
			Name:            i.target.String(),
			TypeDescription: i.target.String(),
			// Between the attempts to resume a watch while the API server refuses connections.
			Backoff: &wait.Backoff{Duration: firstPause, Cap: lastPause, Steps: 5, Factor: 2, Jitter: 0.5},
		},
	)}, nil
}

// read lists the objects and follows the changes until that fails. A panic of a listener is an error.
func (s *stream) read(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	s.requests.begin()
	return s.reflector.ListAndWatchWithContext(ctx)
}

// filling is the store of an informer, which detects when the initial objects are complete.
type filling struct {
	sink
	informer *informer
}

// Replace puts everything that is there into the store.
func (f filling) Replace(objects []any, version string) error {
	if err := f.sink.Replace(objects, version); err != nil {
		return err
	}
	f.informer.filled()
	return nil
}
