package docker

import (
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
)

// news is what was heard of.
type news struct {
	// changed are the containers that must be inspected again; true for those that have started or ended.
	changed map[string]bool
	// asked are the signals that containers were sent since they have started.
	asked map[string][]string
	// late is what the engine has told about containers after nobody waited for it any more.
	late []inspected
	// since is when the first of the changes was noticed.
	since time.Time
}

// inbox collects what events say until the session has time for it. The engine drops events for clients that don't read
// them at once, so taking one in must never wait.
type inbox struct {
	mu sync.Mutex
	news
	// ready holds a value when there is something to take.
	ready chan struct{}
}

func newInbox() *inbox {
	return &inbox{news: news{changed: map[string]bool{}, asked: map[string][]string{}}, ready: make(chan struct{}, 1)}
}

// take returns what was collected.
func (i *inbox) take() news {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := i.news
	i.news = news{changed: map[string]bool{}, asked: map[string][]string{}}
	return out
}

// put takes an event in.
func (i *inbox) put(event events.Message) {
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
		i.asked[id] = append(i.asked[id], event.Actor.Attributes["signal"])
	case event.Type == events.NetworkEventType, isChange(event.Action):
		anew := event.Action == events.ActionStart || event.Action == events.ActionDie
		if anew {
			delete(i.asked, id)
		}
		i.changed[id] = i.changed[id] || anew
	default:
		return
	}
	i.wake()
}

// tell takes in what became of an inspection that nobody waits for.
func (i *inbox) tell(one inspected) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.late = append(i.late, one)
	i.wake()
}

// wake tells that there is something to take.
func (i *inbox) wake() {
	if i.since.IsZero() {
		i.since = time.Now()
	}
	select {
	case i.ready <- struct{}{}:
	default:
	}
}

// isChange tells whether what counts of a container may be otherwise after an event. Engines that filter in their own
// way send more than was asked for.
func isChange(action events.Action) bool {
	switch action {
	case events.ActionStart, events.ActionDie, events.ActionStop, events.ActionPause, events.ActionUnPause,
		events.ActionRename,
		events.ActionUpdate, events.ActionDestroy:
		return true
	}
	return strings.HasPrefix(string(action), string(events.ActionHealthStatus))
}
