package provider

import (
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// receive keeps what a message says. Its cost grows with the number of endpoint sets in the message alone.
func (h *Hub) receive(entry Entry, message dynamic.Message, run uint64) {
	if message.ProviderName != "" && message.ProviderName != entry.Name {
		h.logger.Error("message dropped: a provider may not speak for another one", "provider", entry.Name,
			"speaksFor", message.ProviderName)
		return
	}
	now := time.Now()
	h.mu.Lock()
	if message.Configuration != nil && h.configurations[entry.Name] != message.Configuration {
		h.configurations[entry.Name] = message.Configuration
		h.fresh[entry.Name] = struct{}{}
	}
	for _, set := range message.Endpoints {
		h.sets.put(set, run, now)
	}
	h.states[entry.Name] = h.states[entry.Name].after(message, now)
	h.mu.Unlock()
	h.wake()
}

// after returns the status that follows when a message has arrived.
func (s Status) after(message dynamic.Message, now time.Time) Status {
	next := s
	next.LastMessage = now
	switch {
	case message.State != dynamic.StateUnchanged:
		next.State, next.Reason = message.State, message.Reason
	case message.Configuration != nil && (s.State == dynamic.StatePending || s.State == dynamic.StateTimedOut):
		next.State, next.Reason = dynamic.StateSynced, message.Reason
	case message.Reason != "" || s.State == dynamic.StateSynced:
		// A message of a synced provider that was started again shows that it works.
		next.Reason = message.Reason
	}
	if next.State != s.State {
		next.Since = now
	}
	return next
}
