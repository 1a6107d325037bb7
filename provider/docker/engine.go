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
	// listen returns the events from now on, until ctx ends or the connection is lost.
	listen(ctx context.Context) (<-chan events.Message, <-chan error)
	// list returns all containers, running or not.
	list(ctx context.Context) ([]enginetypes.Summary, error)
	// inspect returns the details of one container.
	inspect(ctx context.Context, id string) (*enginetypes.InspectResponse, error)
	// ping checks the connection.
	ping(ctx context.Context) error
	// close closes the connections.
	close()
}

// errGone means that the container does not exist.
var errGone = errors.New("there is no such container")

// remote is the API of an engine.
type remote struct {
	client  *client.Client
	timeout time.Duration
	// denied is set if the last connect failed with a permission error, which the client's errors hide.
	denied atomic.Bool
}

// errDenied means that there is no permission to use the engine's socket.
var errDenied = errors.New("permission denied")

// wantedEvents are the events that can change a container. The engine filters them: health checks alone cause three
// events each.
var wantedEvents = []string{
	"start", "die", "stop", "kill", "pause", "unpause", "rename", "update", "destroy", "health_status", "connect",
	"disconnect",
}

// replayed is the time for which past events are requested: the engine responds shortly before it subscribes the
// client.
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

// lost reports whether an error is one of the connection rather than of the request.
func lost(err error) bool {
	return client.IsErrConnectionFailed(err) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded)
}

// refused reports whether access to the engine is denied.
func refused(err error) bool {
	return errors.Is(err, errDenied) || cerrdefs.IsPermissionDenied(err) || cerrdefs.IsUnauthorized(err)
}
