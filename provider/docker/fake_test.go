package docker

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	enginetypes "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/network"
)

// fakeEngine is an engine without an API: what a test puts into it is what the provider finds.
type fakeEngine struct {
	mu         sync.Mutex
	containers map[string]*enginetypes.InspectResponse
	listeners  map[*fakeListener]bool
	down       error
	broken     map[string]error
	// hang holds up inspections of a container until it is closed.
	hang      map[string]chan struct{}
	inspected map[string]int
	// slow is how long each inspection takes.
	slow  time.Duration
	open  int
	count int
	// deaf is the error of event streams.
	deaf error
	// connected counts the connections; refused counts the attempts to connect that have failed.
	connected, refused int
}

type fakeListener struct {
	messages chan events.Message
	failed   chan error
	ctx      context.Context
}

func newFakeEngine() *fakeEngine {
	return &fakeEngine{
		containers: map[string]*enginetypes.InspectResponse{}, listeners: map[*fakeListener]bool{},
		broken: map[string]error{}, hang: map[string]chan struct{}{}, inspected: map[string]int{},
	}
}

func (f *fakeEngine) connect() (engine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down != nil {
		f.refused++
		return nil, f.down
	}
	f.open++
	f.connected++
	return &fakeConnection{f}, nil
}

// fakeConnection is one connection to it.
type fakeConnection struct{ *fakeEngine }

func (f *fakeConnection) listen(ctx context.Context) (<-chan events.Message, <-chan error) {
	one := &fakeListener{messages: make(chan events.Message), failed: make(chan error, 1), ctx: ctx}
	f.mu.Lock()
	f.listeners[one] = true
	deaf := f.deaf
	f.mu.Unlock()
	if deaf != nil {
		f.end(one, deaf)
	}
	context.AfterFunc(ctx, func() { f.end(one, ctx.Err()) })
	return one.messages, one.failed
}

func (f *fakeEngine) end(one *fakeListener, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners[one] {
		delete(f.listeners, one)
		one.failed <- err
	}
}

func (f *fakeConnection) list(context.Context) ([]enginetypes.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []enginetypes.Summary
	for _, id := range slices.Sorted(maps.Keys(f.containers)) {
		one := f.containers[id]
		out = append(out, enginetypes.Summary{
			ID: id, Names: []string{one.Name}, Labels: one.Config.Labels,
			State: one.State.Status,
		})
	}
	return out, f.down
}

func (f *fakeConnection) inspect(ctx context.Context, id string) (*enginetypes.InspectResponse, error) {
	f.mu.Lock()
	hang, slow := f.hang[id], f.slow
	f.mu.Unlock()
	pause(ctx, slow)
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inspected[id]++
	switch one := f.containers[id]; {
	case f.broken[id] != nil:
		return nil, f.broken[id]
	case f.down != nil:
		return nil, f.down
	case one == nil:
		return nil, errGone
	default:
		copied := *one
		return &copied, nil
	}
}

func (f *fakeConnection) ping(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *fakeConnection) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open--
}

// fakeContainer makes a running container at an address, with labels in turns of name and value.
func fakeContainer(name, address string, labels ...string) *enginetypes.InspectResponse {
	one := &enginetypes.InspectResponse{
		Name:       "/" + name,
		State:      &enginetypes.State{Status: enginetypes.StateRunning},
		Config:     &enginetypes.Config{Labels: map[string]string{}},
		HostConfig: &enginetypes.HostConfig{NetworkMode: "bridge"},
		NetworkSettings: &enginetypes.NetworkSettings{
			Ports:    network.PortMap{network.MustParsePort("80/tcp"): nil},
			Networks: map[string]*network.EndpointSettings{"bridge": {IPAddress: netip.MustParseAddr(address)}},
		},
	}
	for i := 0; i < len(labels); i += 2 {
		one.Config.Labels[labels[i]] = labels[i+1]
	}
	return one
}

// put puts a container in without an event.
func (f *fakeEngine) put(one *enginetypes.InspectResponse) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.ID == "" {
		f.count++
		one.ID = strings.Repeat(strconv.Itoa(10+f.count%90), 32)
	}
	f.containers[one.ID] = one
	return one.ID
}

// start adds a container and sends its event.
func (f *fakeEngine) start(one *enginetypes.InspectResponse) string {
	id := f.put(one)
	f.emit("start", id)
	return id
}

// change changes a container without an event.
func (f *fakeEngine) change(id string, how func(*enginetypes.InspectResponse)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	copied := *f.containers[id]
	state := *copied.State
	copied.State = &state
	how(&copied)
	f.containers[id] = &copied
}

// remove removes a container without an event.
func (f *fakeEngine) remove(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.containers, id)
}

// emit sends an event to all streams.
func (f *fakeEngine) emit(action events.Action, id string, attributes ...string) {
	event := events.Message{Type: events.ContainerEventType, Action: action, Actor: events.Actor{
		ID:         id,
		Attributes: map[string]string{},
	}}
	for i := 0; i < len(attributes); i += 2 {
		event.Actor.Attributes[attributes[i]] = attributes[i+1]
	}
	f.send(event)
}

func (f *fakeEngine) send(event events.Message) {
	f.mu.Lock()
	listeners := slices.Collect(maps.Keys(f.listeners))
	f.mu.Unlock()
	for _, one := range listeners {
		select {
		case one.messages <- event:
		case <-one.ctx.Done():
		}
	}
}

var errCut = errors.New("connection reset")

// cut ends all event streams; while err is set, the engine is unreachable.
func (f *fakeEngine) cut(err error) {
	f.mu.Lock()
	f.down = err
	listeners := slices.Collect(maps.Keys(f.listeners))
	f.mu.Unlock()
	for _, one := range listeners {
		f.end(one, errCut)
	}
}

// inspections returns how often containers were inspected since the last call.
func (f *fakeEngine) inspections() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.inspected
	f.inspected = map[string]int{}
	return out
}

func (f *fakeEngine) check(t *testing.T) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.listeners) != 0 || f.open != 0 {
		t.Errorf("%d listeners and %d connections are left", len(f.listeners), f.open)
	}
}

// containerEvent makes an event of the container c, with attributes in turns of name and value.
func containerEvent(action events.Action, attributes ...string) events.Message {
	event := events.Message{Type: events.ContainerEventType, Action: action, Actor: events.Actor{
		ID:         "c",
		Attributes: map[string]string{},
	}}
	for i := 0; i < len(attributes); i += 2 {
		event.Actor.Attributes[attributes[i]] = attributes[i+1]
	}
	return event
}
