package main

import (
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forward/datagram"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// datagrams returns the server of a UDP entrypoint.
func (s *system) datagrams(name string, config *static.EntryPoint) *datagram.Server {
	server := s.datagramsOf(name, s.target.Packets(name), config)
	s.packets[name] = server
	return server
}

// datagramsOf returns the server of an address of UDP whose sessions a router opens.
func (s *system) datagramsOf(name string, router *datagram.Router, config *static.EntryPoint) *datagram.Server {
	deps := s.observability.dependencies(name, config)
	s.countByListener(deps.Sinks)
	options := datagram.Options{
		EntryPoint:           name,
		Timeout:              time.Duration(config.UDP.Timeout),
		MaxSessions:          config.UDP.MaxSessions,
		MaxSessionsPerClient: config.UDP.MaxSessionsPerClient,
		Descriptors:          s.descriptors,
		Permits:              s.connections.Permits,
		Observer:             sessions{sinks: deps.Sinks, observe: deps.Observe},
	}
	return datagram.NewServer(router, options)
}

// datagramServers returns the state of the servers of the UDP entrypoints, by name.
func (s *system) datagramServers() []metrics.DatagramServer {
	var states []metrics.DatagramServer
	for _, name := range slices.Sorted(maps.Keys(s.packets)) {
		states = append(states, datagramState(name, s.packets[name]))
	}
	for server, address := range s.datagramListeners.Range {
		state := datagramState(address.(string), server.(*datagram.Server))
		at := slices.IndexFunc(states, func(other metrics.DatagramServer) bool {
			return other.EntryPoint == state.EntryPoint
		})
		if at < 0 {
			states = append(states, state)
			continue
		}
		states[at].Sessions += state.Sessions // One of them drains.
		for cause, dropped := range state.Dropped {
			states[at].Dropped[cause] += dropped
		}
	}
	return states
}

// datagramState reads the state of a server.
func datagramState(name string, server *datagram.Server) metrics.DatagramServer {
	state := metrics.DatagramServer{EntryPoint: name, Sessions: server.Sessions(), Dropped: map[string]uint64{}}
	for _, cause := range datagram.Causes() {
		state.Dropped[cause.String()] = server.Dropped(cause)
	}
	return state
}

// datagramListener serves a UDP address of listeners, and is in the metrics as long as it does.
type datagramListener struct {
	*datagram.Server
	address string
	serving *sync.Map
}

// ServePackets serves sockets until ctx ends.
func (l *datagramListener) ServePackets(ctx context.Context, sockets []net.PacketConn) error {
	l.serving.Store(l.Server, l.address)
	defer l.serving.Delete(l.Server)
	return l.Server.ServePackets(ctx, sockets)
}

// sessions passes on the records of sessions that are over.
type sessions struct {
	sinks   []entrypoint.Sink
	observe telemetry.Observe
}

// SessionEnded makes a record of a session and passes it on.
func (s sessions) SessionEnded(ended *datagram.Record) {
	record := &telemetry.Record{
		Start: ended.Began, Duration: ended.Duration, Protocol: telemetry.ProtocolUDP, Entrypoint: ended.EntryPoint,
		Router: ended.Router, Service: strings.TrimPrefix(ended.Service, "udp:"), Endpoint: ended.Endpoint.String(),
		Client: ended.Client.Addr().Unmap().String(), ClientPort: strconv.Itoa(int(ended.Client.Port())),
		DatagramsReceived: int64(ended.FromClient.Datagrams),   //nolint:gosec // A count.
		DatagramsSent:     int64(ended.FromEndpoint.Datagrams), //nolint:gosec // A count.
		BytesReceived:     int64(ended.FromClient.Bytes),       //nolint:gosec // A count.
		BytesSent:         int64(ended.FromEndpoint.Bytes),     //nolint:gosec // A count.
		End:               ended.Reason.String(), Tries: 1, Generation: ended.Generation, Observe: s.observe,
	}
	for _, sink := range s.sinks {
		sink.Finished(record)
	}
}
