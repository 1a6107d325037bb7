package docker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// publish sends what has changed since the last message: the configuration, endpoint sets, or both. Noticed is when the
// change was first heard of.
func (s *session) publish(ctx context.Context, noticed time.Time) {
	s.findHost(ctx)
	before := s.memory.objects
	next := s.assemble()
	s.memory.objects = next.objects
	s.tellLeft(next.left)
	message := dynamic.Message{State: dynamic.StateSynced, Endpoints: s.changedSets(next.sets, noticed)}
	if s.last == nil || !maps.Equal(before, next.objects) || !alikeBeside(s.last, next.config) {
		s.last = next.config
		message.Configuration = next.config
	}
	s.published = next.sets
	back := s.reason != "" || s.told != dynamic.StateSynced
	if message.Configuration == nil && len(message.Endpoints) == 0 && !back {
		return
	}
	if s.reason != "" {
		s.logger.Info("docker: the engine is read again", "endpoint", redact(s.config.Endpoint), "containers",
			len(s.containers))
	}
	s.reason, s.told = "", dynamic.StateSynced
	s.send(ctx, message)
}

// tellLeft logs which containers take no part, and why.
func (s *session) tellLeft(left map[string]string) {
	for id, reason := range left {
		if s.left[id] != reason {
			s.logger.Debug("docker: container is left out", "container", s.containers[id].name, "reason", reason)
		}
	}
	s.left = left
}

// alikeBeside tells whether two configurations say the same beside their objects.
func alikeBeside(a, b *dynamic.Configuration) bool {
	return maps.Equal(a.Origins, b.Origins) && slices.Equal(a.Verdicts, b.Verdicts)
}

// changedSets returns the sets that are not as they were published last, and those that are gone.
func (s *session) changedSets(next map[string][]dynamic.Endpoint, noticed time.Time) []dynamic.EndpointSet {
	var out []dynamic.EndpointSet
	for key, endpoints := range next {
		before, known := s.published[key]
		if known && slices.EqualFunc(before, endpoints, sameEndpoint) {
			continue
		}
		out = append(out, dynamic.EndpointSet{Key: key, Endpoints: endpoints, Noticed: noticed})
	}
	for key := range s.published {
		if _, ok := next[key]; !ok {
			out = append(out, dynamic.EndpointSet{Key: key, Deleted: true, Noticed: noticed})
		}
	}
	slices.SortFunc(out, func(a, b dynamic.EndpointSet) int { return strings.Compare(a.Key, b.Key) })
	for i := range out {
		s.version++
		out[i].Version = s.version
	}
	return out
}

// sameEndpoint compares what a container's endpoint has.
func sameEndpoint(a, b dynamic.Endpoint) bool {
	return a.Address == b.Address && a.UID == b.UID && a.Terminating == b.Terminating
}

// findHost finds the address of the engine's host when a container uses its network.
func (s *session) findHost(ctx context.Context) {
	if s.hostAddress.IsValid() {
		return
	}
	for _, c := range s.containers {
		if c.mode.IsHost() {
			s.hostAddress = s.resolve(ctx)
			return
		}
	}
}
