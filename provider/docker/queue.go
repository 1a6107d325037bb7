package docker

import (
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
)

// changes are collected events.
type changes struct {
	// containers must be inspected again; true for those that have started or stopped.
	containers map[string]bool
	// signals are the signals sent to containers since their start.
	signals map[string][]string
	// late are the results of inspections after slowInspection.
	late []inspected
	// since is when the first change was received.
	since time.Time
}

// eventQueue is the queue between the event stream and the session. The engine drops events of clients that read
// slowly, so adding must not block.
type eventQueue struct {
	mu sync.Mutex
	changes
	// ready receives a value when there is something to take.
	ready chan struct{}
}

func newEventQueue() *eventQueue {
	return &eventQueue{
		changes: changes{containers: map[string]bool{}, signals: map[string][]string{}},
		ready:   make(chan struct{}, 1),
	}
}

// take returns and clears the collected changes.
func (i *eventQueue) take() changes {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := i.changes
	i.changes = changes{containers: map[string]bool{}, signals: map[string][]string{}}
	return out
}

// put adds an event.
func (i *eventQueue) put(event events.Message) {
	id := event.Actor.ID
	if event.Type == events.NetworkEventType {
		id = event.Actor.Attributes["container"]
	}
	if id == "" {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case event.Type == events.ContainerEventType && event.Action == events.ActionKill:
		i.signals[id] = append(i.signals[id], event.Actor.Attributes["signal"])
	case event.Type == events.NetworkEventType, isChange(event.Action):
		anew := event.Action == events.ActionStart || event.Action == events.ActionDie
		if anew {
			delete(i.signals, id)
		}
		i.containers[id] = i.containers[id] || anew
	default:
		return
	}
	i.wake()
}

// add adds the result of a late inspection.
func (i *eventQueue) add(one inspected) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.late = append(i.late, one)
	i.wake()
}

// wake signals ready.
func (i *eventQueue) wake() {
	if i.since.IsZero() {
		i.since = time.Now()
	}
	select {
	case i.ready <- struct{}{}:
	default:
	}
}

// isChange reports whether an event can change the properties of a container. Some engines send more events than
// requested.
func isChange(action events.Action) bool {
	switch action {
	case events.ActionStart, events.ActionDie, events.ActionStop, events.ActionPause, events.ActionUnPause,
		events.ActionRename,
		events.ActionUpdate, events.ActionDestroy:
		return true
	}
	return strings.HasPrefix(string(action), string(events.ActionHealthStatus))
}
