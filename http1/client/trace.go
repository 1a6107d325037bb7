package client

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
)

// traced makes the call report to the trace of a context, if there is one.
func (rt *RoundTrip) traced(ctx context.Context) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return
	}
	rt.trace = trace
	if trace.Got1xxResponse != nil {
		rt.Informational = func(status int, header http.Header) error {
			return trace.Got1xxResponse(status, textproto.MIMEHeader(header))
		}
	}
}

func (rt *RoundTrip) gotConn(cc *clientConn) {
	if rt.trace == nil || rt.trace.GotConn == nil {
		return
	}
	info := httptrace.GotConnInfo{Conn: cc.conn, Reused: cc.reused, WasIdle: cc.reused}
	if cc.reused {
		info.IdleTime = cc.upstream.clock() - cc.idleSince
	}
	rt.trace.GotConn(info)
}

func (rt *RoundTrip) wrote(err error) {
	if rt.trace != nil && rt.trace.WroteRequest != nil {
		rt.trace.WroteRequest(wroteRequest(err))
	}
}

func wroteRequest(err error) httptrace.WroteRequestInfo {
	return httptrace.WroteRequestInfo{Err: err}
}

func (rt *RoundTrip) got100() {
	if rt.trace != nil && rt.trace.Got100Continue != nil {
		rt.trace.Got100Continue()
	}
}

func (rt *RoundTrip) gotFirstByte() {
	if rt.trace != nil && rt.trace.GotFirstResponseByte != nil {
		rt.trace.GotFirstResponseByte()
	}
}
