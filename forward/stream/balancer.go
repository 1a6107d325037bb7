package stream

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/relay"
	"github.com/sluiceproxy/sluice/forward/servertls"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/httpio/descriptors"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Options are the options of a load balancer.
type Options struct {
	// Service is the service's qualified name.
	Service string
	// Transport is that of the pool's upstreams. Required.
	Transport *Transport
	// Attempts is how many further endpoints are tried after one could not be connected to. Each may take the transport's
	// dialTimeout. They need no budget, since an endpoint is tried once, and one that fails is soon ejected.
	Attempts int
	// ProxyProtocol is the PROXY header where the transport has none (loadBalancer.proxyProtocol, deprecated); nil is
	// none. It must be valid by CheckProxyProtocol.
	ProxyProtocol *dynamic.ProxyProtocol
	// TerminationDelay replaces the transport's (loadBalancer.terminationDelay, deprecated); nil does not.
	TerminationDelay *time.Duration
}

// Balancer is a [Service] over the endpoints of a pool.
type Balancer struct {
	pool    *loadbalancer.Pool
	options Options
	proxy   proxyHeader
	limits  relay.Options
}

// NewBalancer returns the service of a pool.
func NewBalancer(pool *loadbalancer.Pool, options Options) *Balancer {
	b := &Balancer{pool: pool, options: options, proxy: options.Transport.proxy, limits: options.Transport.limits}
	if b.proxy == (proxyHeader{}) {
		b.proxy = newProxyHeader(options.ProxyProtocol)
	}
	if options.TerminationDelay != nil {
		b.limits.TerminationDelay = *options.TerminationDelay
	}
	return b
}

// Up reports whether the pool has an endpoint that is not known to be unhealthy.
func (b *Balancer) Up() bool { return b.pool.Up() }

// Serve connects to an endpoint that the pool picks, to others where that fails, and joins the connections. A client
// for which there is none is reset. The connection counts against limits, and for leastrequest, until it ends.
func (b *Balancer) Serve(ctx context.Context, client *Client, result *Result, done func()) {
	*result = Result{Service: b.options.Service}
	s := &session{server: b.connect(ctx, client, result), result: result, done: done}
	if s.server.conn == nil {
		_ = httpio.Reset(client.Conn)
		done()
		return
	}
	joined := b.options.Transport.engine.Join(client.Conn, s.server.conn, b.limits)
	s.server.upstream.joined(s.server.conn, joined)
	joined.Serve(ctx, s.ended)
}

// session is a client's connection that is joined with one to an endpoint.
type session struct {
	server attached
	result *Result
	done   func()
}

// ended records how the session has ended.
func (s *session) ended(joined relay.Result) {
	cut := s.server.upstream.release(s.server.conn)
	s.server.member.Done(loadbalancer.Result{Outcome: loadbalancer.Abandoned, Counted: s.server.counted})
	result := s.result
	result.FromClient, result.FromServer = joined.FromClient, joined.FromServer
	result.End = joined.Final.String()
	switch joined.Final {
	case relay.ClientEOF, relay.ServerEOF:
		result.End = joined.First.String() // After two orderly ends, the one that came first is the cause.
	case relay.Shutdown:
		if cut {
			result.Reason = errCut.Error()
		}
	case relay.Error:
		result.Reason = joined.Err.Error()
	}
	s.done()
}

// attached is an endpoint that has been connected to.
type attached struct {
	conn     net.Conn // nil where there is none
	member   *loadbalancer.Member
	upstream *connections
	counted  bool
}

// connect tries one endpoint after the other. Without a connection the result has the cause.
func (b *Balancer) connect(ctx context.Context, client *Client, result *Result) attached {
	began := time.Now()
	request := loadbalancer.Request{Context: ctx}
	request.Now = b.pool.Instant(began)
	if client.Address.IsValid() {
		request.Client = client.Address.String()
	}
	header := b.proxy.client(client)
	var failure error
	for {
		member, err := b.pool.Acquire(&request)
		if err != nil {
			b.refused(ctx, result, failure, err)
			return attached{}
		}
		if failure != nil {
			b.pool.Counters().Retries.Add(1)
		}
		server := attached{
			member: member, upstream: member.Upstream().Connections().(*connections), counted: request.Counted,
		}
		result.Endpoint = member.Address()
		result.Attempts++
		server.conn, failure = server.upstream.dialClient(ctx, header, client.Preamble)
		tried := loadbalancer.Result{
			Outcome: outcomeOf(ctx, failure), Began: request.Now, Now: b.pool.Instant(began) + time.Since(began),
			Counted: request.Counted,
		}
		member.Count(&tried)
		if failure == nil {
			member.Connected(tried.Began, tried.Now)
			return server
		}
		member.Done(tried)
		final := tried.Outcome == loadbalancer.Abandoned && !errors.Is(failure, errClosed)
		if final || len(request.Tried) >= b.options.Attempts {
			b.failed(ctx, result, failure, "")
			return attached{}
		}
		request.Tried, request.Now = append(request.Tried, member), tried.Now
	}
}

// outcomeOf returns what a dial says of its endpoint.
func outcomeOf(ctx context.Context, failure error) loadbalancer.Outcome {
	switch {
	case failure == nil:
		return loadbalancer.Answered
	case ctx.Err() != nil || errors.Is(failure, errClosed):
		return loadbalancer.Abandoned
	}
	if _, ok := errors.AsType[*servertls.IdentityError](failure); ok || errors.Is(failure, descriptors.ErrReserved) {
		return loadbalancer.Abandoned // No connection was tried, so that the endpoint is not to blame.
	}
	if _, ok := errors.AsType[*answerError](failure); ok {
		return loadbalancer.Broken
	}
	return loadbalancer.Unreachable
}

// refused records why there is no endpoint, or no further one after a failure.
func (b *Balancer) refused(ctx context.Context, result *Result, failure, err error) {
	if failure != nil {
		b.failed(ctx, result, failure, err.Error())
		return
	}
	result.Code, result.Reason = telemetry.CodeNoEndpoint, err.Error()
	refusal, ok := errors.AsType[*loadbalancer.Refusal](err)
	switch {
	case !ok:
		result.End, result.Code, result.Reason = relay.Shutdown.String(), "", ""
	case refusal.Saturated:
		result.Code = telemetry.CodeSaturated
	}
}

// failed records why the last endpoint could not be connected to, and why no other was tried.
func (b *Balancer) failed(ctx context.Context, result *Result, failure error, bar string) {
	if ctx.Err() != nil {
		result.End = relay.Shutdown.String()
		return
	}
	result.Code, result.Reason = telemetry.CodeUnreachable, failure.Error()
	late, ok := errors.AsType[net.Error](failure)
	_, broken := errors.AsType[*answerError](failure)
	switch {
	case broken:
		result.Code = telemetry.CodeBroken
	case errors.Is(failure, descriptors.ErrReserved):
		result.Code = telemetry.CodeSaturated
	case ok && late.Timeout():
		result.Code = telemetry.CodeTimeout
	}
	if result.Attempts > 1 {
		result.Reason += "; " + strconv.Itoa(result.Attempts) + " tries"
	}
	if bar != "" {
		result.Reason += "; not tried again: " + bar
	}
}
