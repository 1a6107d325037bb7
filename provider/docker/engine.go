package docker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	enginetypes "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
)

// engine is a connection to an engine.
type engine interface {
	// listen returns the events from now on, until ctx ends or the connection breaks.
	listen(ctx context.Context) (<-chan events.Message, <-chan error)
	// list returns all containers, whether they run or not.
	list(ctx context.Context) ([]enginetypes.Summary, error)
	// inspect tells all about one container.
	inspect(ctx context.Context, id string) (*enginetypes.InspectResponse, error)
	// ping asks whether the engine is there.
	ping(ctx context.Context) error
	// close gives the connections back.
	close()
}

// errGone says that the engine knows of no such container.
var errGone = errors.New("there is no such container")

// remote is an engine behind its API.
type remote struct {
	client  *client.Client
	timeout time.Duration
	// denied says that the last attempt to connect failed for want of rights, which the client's errors don't tell.
	denied atomic.Bool
}

// errDenied says that the engine's socket may not be used.
var errDenied = errors.New("permission denied")

// wantedEvents are those after which a container may have to be read anew. The engine filters, since health checks
// alone make three events each.
var wantedEvents = []string{
	"start", "die", "stop", "kill", "pause", "unpause", "rename", "update", "destroy", "health_status", "connect",
	"disconnect",
}

// replayed is how far back events are asked for: the engine answers a moment before it begins to listen for a client.
const replayed = 10 * time.Second

func (r *remote) listen(ctx context.Context) (<-chan events.Message, <-chan error) {
	filters := client.Filters{}
	filters.Add("type", "container", "network")
	filters.Add("event", wantedEvents...)
	since := time.Now().Add(-replayed).Unix()
	stream := r.client.Events(ctx, client.EventsListOptions{Since: fmt.Sprint(since), Filters: filters})
	return stream.Messages, stream.Err
}

func (r *remote) list(ctx context.Context) ([]enginetypes.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	result, err := r.client.ContainerList(ctx, client.ContainerListOptions{All: true})
	return result.Items, err
}

func (r *remote) inspect(ctx context.Context, id string) (*enginetypes.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	result, err := r.client.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	switch {
	case cerrdefs.IsNotFound(err):
		return nil, errGone
	case err != nil:
		return nil, err
	}
	return &result.Container, nil
}

func (r *remote) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	_, err := r.client.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if err != nil && r.denied.Load() {
		return fmt.Errorf("%w: %w", errDenied, err)
	}
	return err
}

func (r *remote) close() { _ = r.client.Close() }

// lost tells whether an error is one of the connection rather than of what was asked for.
func lost(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// refused tells whether the engine may not be read.
func refused(err error) bool {
	return errors.Is(err, errDenied) || cerrdefs.IsPermissionDenied(err) || cerrdefs.IsUnauthorized(err)
}
