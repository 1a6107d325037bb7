package docker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// publish sends the changes since the last message: the configuration, endpoint sets, or both. noticed is when the
// first change was received.
func (s *session) publish(ctx context.Context, noticed time.Time) {
	s.findHost(ctx)
	before := s.memory.objects
	next := s.assemble()
	s.memory.objects = next.objects
	s.logExcluded(next.excluded)
	message := dynamic.Message{State: dynamic.StateSynced, Endpoints: s.changedSets(next.sets, noticed)}
	if s.last == nil || !maps.Equal(before, next.objects) || !alikeBeside(s.last, next.config) {
		s.last = next.config
		message.Configuration = next.config
	}
	s.published = next.sets
	back := s.reason != "" || s.reported != dynamic.StateSynced
	if message.Configuration == nil && len(message.Endpoints) == 0 && !back {
		return
	}
	if s.reason != "" {
		s.logger.Info("docker: connected to the engine", "endpoint", redact(s.config.Endpoint), "containers",
			len(s.containers))
	}
	s.reason, s.reported = "", dynamic.StateSynced
	s.send(ctx, message)
}

// logExcluded logs the excluded containers and the reasons, each once: on level INFO where it may be a mistake.
func (s *session) logExcluded(excluded map[string]string) {
	for id, reason := range excluded {
		if s.excluded[id] == reason {
			continue
		}
		write := s.logger.Debug
		if reason == notEnabled || reason == notReachable {
			write = s.logger.Info
		}
		write("docker: container is excluded", "container", s.containers[id].name, "reason", reason)
	}
	s.excluded = excluded
}

// alikeBeside reports whether two configurations are equal except for their objects.
func alikeBeside(a, b *dynamic.Configuration) bool {
	return a.Origins.Same(b.Origins) && slices.Equal(a.Verdicts, b.Verdicts)
}

// changedSets returns the sets that differ from the published ones, and deletions.
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
	return out
}

// sameEndpoint compares the fields of a container's endpoint.
func sameEndpoint(a, b dynamic.Endpoint) bool {
	return a.Address == b.Address && a.UID == b.UID && a.Terminating == b.Terminating
}

// findHost resolves the address of the engine's host if a container uses host networking.
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
