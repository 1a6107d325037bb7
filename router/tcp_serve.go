package router

import (
	"context"
	"slices"

	"github.com/sluiceproxy/sluice/forward/stream"
	"github.com/sluiceproxy/sluice/router/tcp"
	"github.com/sluiceproxy/sluice/telemetry"
)

// tcpStream serves the connections of a TCP route, as a generation of the configuration has it.
type tcpStream struct {
	route      *TCPRoute
	generation uint64
}

// ServeStream passes the middlewares, ends TLS where the router does, and hands the connection to the service.
func (s tcpStream) ServeStream(ctx context.Context, in *tcp.Incoming, done func()) {
	r, result := s.route, &in.Result
	result.Router, result.Generation, result.Observe = r.Name, s.generation, r.observe
	result.EntryPoint = r.EntryPoint
	if r.fault != nil {
		result.Code, result.Reason = telemetry.CodeRouterDisabled, "the router is disabled: "+r.fault.Error()
		done()
		return
	}
	admitted, ok := s.admit(in)
	end := done
	if len(admitted) > 0 {
		end = func() {
			for _, release := range slices.Backward(admitted) {
				release()
			}
			done()
		}
	}
	client := &stream.Client{Conn: in.Conn, Address: in.Client, ServerName: in.ServerName, Protocols: in.Protocols}
	if !ok || !s.secure(ctx, in, client) {
		end()
		return
	}
	r.service.service.Serve(ctx, client, &result.Result, end)
}

// admit passes the middlewares, and returns what is to be called when the connection ends.
func (s tcpStream) admit(in *tcp.Incoming) (admitted []func(), ok bool) {
	for _, step := range s.route.steps {
		release, refusal := step.step.Admit(in.Client)
		if refusal.Code != "" {
			in.Result.Code, in.Result.Reason = refusal.Code, "middleware "+step.name+": "+refusal.Reason
			return admitted, false
		}
		if release != nil {
			admitted = append(admitted, release)
		}
	}
	return admitted, true
}

// secure ends the TLS of a client, or has the server answer the request for TLS of PostgreSQL that passes through.
func (s tcpStream) secure(ctx context.Context, in *tcp.Incoming, client *stream.Client) bool {
	if !s.route.terminates {
		if in.StartTLS {
			client.Preamble = &stream.Preamble{Request: []byte(tcp.SSLRequest), Answer: []byte(tcp.SSLAccepted)}
		}
		return true
	}
	secure, err := in.Handshake(ctx, s.route.present.StreamConfig(in.Protocols))
	if err != nil {
		in.Result.Code, in.Result.Reason = telemetry.CodeBadRequest, err.Error()
		return false
	}
	state := secure.ConnectionState()
	client.Conn, client.TLS, in.Result.TLS = secure, &state, &state
	return true
}
