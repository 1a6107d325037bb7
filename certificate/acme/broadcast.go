package acme

import "sync"

// broadcast wakes those that wait for the next change.
type broadcast struct {
	mutex sync.Mutex
	next  chan struct{}
}

func newBroadcast() *broadcast { return &broadcast{next: make(chan struct{})} }

// wait returns a channel that is closed at the next change.
func (b *broadcast) wait() <-chan struct{} {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.next
}

// send reports a change.
func (b *broadcast) send() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}
