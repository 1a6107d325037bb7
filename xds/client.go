package xds

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
)

// Client is one stream, for the API.
type Client struct {
	// Node is the id of the client's node, and Address its address.
	Node    string `json:"node"`
	Address string `json:"address"`
	// Identity is the name in the client's certificate or token; empty without one.
	Identity string `json:"identity,omitempty"`
	// Namespaces are those that the client may see; empty for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// Agent is the program of the client, with its version.
	Agent string `json:"agent,omitempty"`
	// Protocol is sotw (state of the world) or delta (incremental).
	Protocol string `json:"protocol"`
	// Since is when the stream began.
	Since time.Time `json:"since"`
	// Status is the worst of its types: rejected, pending or synced; empty when nothing was sent.
	Status string `json:"status,omitempty"`
	// Types are the subscribed types, in order.
	Types []ClientType `json:"types"`
}

// ClientType is one type of a stream, for the API.
type ClientType struct {
	// Type is lds, rds, cds or eds.
	Type string `json:"type"`
	// Names are the subscribed resources, in order; * is all.
	Names []string `json:"names"`
	// Missing are those of them that do not exist.
	Missing []string `json:"missing,omitempty"`
	// Sent and Acknowledged are the last versions.
	Sent         string `json:"sent"`
	Acknowledged string `json:"acknowledged"`
	// Status is synced, pending (sent and not acknowledged), rejected, or empty when nothing was sent.
	Status string `json:"status,omitempty"`
	// SentAt and AcknowledgedAt are when.
	SentAt         *time.Time `json:"sentAt,omitempty"`
	AcknowledgedAt *time.Time `json:"acknowledgedAt,omitempty"`
	// Rejected is the last response that the client has not accepted, until it accepts one.
	Rejected *Rejection `json:"rejected,omitempty"`
}

// The statuses of a type of a stream.
const (
	// StatusSynced is for a last response that the client has accepted.
	StatusSynced = "synced"
	// StatusPending is for one that it has not answered yet.
	StatusPending = "pending"
	// StatusRejected is for one that it has not accepted.
	StatusRejected = "rejected"
)

// client returns the state of the stream.
func (s *stream) client() Client {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	one := Client{
		Node: s.nodeID(), Address: s.address, Identity: s.identity, Namespaces: s.namespaces, Agent: agent(s.node),
		Protocol: s.protocol.name(), Since: s.since, Types: []ClientType{},
	}
	for _, state := range s.types {
		if state != nil {
			one.Types = append(one.Types, state.clientType())
		}
	}
	one.Status = worst(one.Types)
	slices.SortFunc(one.Types, func(a, b ClientType) int { return strings.Compare(a.Type, b.Type) })
	return one
}

// worst returns the status of the type that is least in sync.
func worst(types []ClientType) string {
	for _, status := range []string{StatusRejected, StatusPending, StatusSynced} {
		if slices.ContainsFunc(types, func(one ClientType) bool { return one.Status == status }) {
			return status
		}
	}
	return ""
}

// agent returns the name and version of the client's program.
func agent(node *corev3.Node) string {
	return strings.TrimSpace(node.GetUserAgentName() + " " + node.GetUserAgentVersion())
}

// clientType returns the state of a type.
func (s *subscription) clientType() ClientType {
	names := s.listed()
	one := ClientType{
		Type: s.collection.kind.String(), Names: names, Missing: s.collection.lacks(names), Sent: s.sent,
		Acknowledged: s.acked, Rejected: s.rejected,
	}
	if !s.sentAt.IsZero() {
		sent := s.sentAt
		one.SentAt, one.Status = &sent, StatusPending
	}
	if !s.ackedAt.IsZero() {
		acked := s.ackedAt
		one.AcknowledgedAt = &acked
	}
	switch {
	case s.rejected != nil:
		one.Status = StatusRejected
	case s.sent != "" && s.sent == s.acked && !s.ackedAt.Before(s.sentAt):
		one.Status = StatusSynced
	}
	return one
}

// snapshot returns the streams.
func (s *Server) snapshot() []*stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.streams))
}

// Clients returns the state of all streams, by node and address.
func (s *Server) Clients() []Client {
	streams := s.snapshot()
	clients := make([]Client, 0, len(streams))
	for _, one := range streams {
		clients = append(clients, one.client())
	}
	slices.SortFunc(clients, func(a, b Client) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Address, b.Address), a.Since.Compare(b.Since))
	})
	return clients
}

// Resource is one published resource, for the API. It is encoded when it is shown.
type Resource struct {
	// Type is lds, rds, cds or eds.
	Type string `json:"type"`
	// Name is its name.
	Name string `json:"name"`

	content *anypb.Any
}

// MarshalJSON returns type and name with the content (resource) in the JSON form of Protocol Buffers.
func (r Resource) MarshalJSON() ([]byte, error) {
	message, err := r.content.UnmarshalNew()
	if err != nil {
		return nil, fmt.Errorf("decoding %s %s: %w", r.Type, r.Name, err)
	}
	content, err := protojson.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %s: %w", r.Type, r.Name, err)
	}
	return json.Marshal(struct {
		Type     string          `json:"type"`
		Name     string          `json:"name"`
		Resource json.RawMessage `json:"resource"`
	}{r.Type, r.Name, content})
}

// Resources returns what the streams of a node have subscribed to, or all resources for an empty node; ok is false when
// there is no such node.
func (s *Server) Resources(node string) (resources []Resource, ok bool) {
	if node == "" {
		return s.publisher.all.shown(nil), true
	}
	for _, one := range s.snapshot() {
		names, of := one.subscribed()
		if of != node {
			continue
		}
		resources, ok = append(resources, one.view.shown(names)...), true
	}
	slices.SortFunc(resources, compareResources)
	return slices.CompactFunc(resources, func(a, b Resource) bool { return a.Type == b.Type && a.Name == b.Name }), ok
}

// subscribed returns the names of the stream's subscriptions by kind, and the id of its node. The names of a type that
// is subscribed as a whole are nil.
func (s *stream) subscribed() (names map[kind][]string, node string) {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	names = map[kind][]string{}
	for of, one := range s.types {
		switch {
		case one == nil:
		case one.wildcard:
			names[kind(of)] = nil
		default:
			names[kind(of)] = one.listed()
		}
	}
	return names, s.nodeID()
}

// shown returns the resources of the kinds in names, or of all kinds for nil, for the API.
func (v *view) shown(names map[kind][]string) []Resource {
	var all []Resource
	for of := range kinds {
		if wanted, subscribed := names[of]; names == nil || subscribed {
			all = append(all, v.resources(of, wanted)...)
		}
	}
	slices.SortStableFunc(all, func(a, b Resource) int { return strings.Compare(a.Type, b.Type) })
	return all
}

func compareResources(a, b Resource) int {
	return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Name, b.Name))
}
