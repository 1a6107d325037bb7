package provider

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// receive stores a message. The cost grows only with the number of endpoint sets in it.
func (h *Hub) receive(entry Entry, message dynamic.Message) {
	if message.Provider != "" && message.Provider != entry.Name {
		h.logger.Error("message dropped: it names another provider", "provider", entry.Name,
			"speaksFor", message.Provider)
		return
	}
	now := time.Now()
	h.mu.Lock()
	if message.Configuration != nil && h.configurations[entry.Name] != message.Configuration {
		h.configurations[entry.Name] = message.Configuration
		h.fresh[entry.Name] = struct{}{}
		h.immediate = h.immediate || entry.Immediate
		h.paced = h.paced || entry.Paced
	}
	for _, set := range message.Endpoints {
		h.sets.put(set)
	}
	h.states[entry.Name] = h.states[entry.Name].after(message, now)
	h.mu.Unlock()
	h.wake()
}

// after returns the status after a message.
func (s Status) after(message dynamic.Message, now time.Time) Status {
	next := s
	next.LastMessage = now
	switch {
	case message.State != dynamic.StateUnchanged:
		next.State, next.Reason = message.State, message.Reason
	case message.Configuration != nil && (s.State == dynamic.StatePending || s.State == dynamic.StateTimedOut):
		next.State, next.Reason = dynamic.StateSynced, message.Reason
	case message.Reason != "" || s.State == dynamic.StateSynced:
		// A message shows that a restarted provider works again.
		next.Reason = message.Reason
	}
	if next.State != s.State {
		next.Since = now
	}
	return next
}
