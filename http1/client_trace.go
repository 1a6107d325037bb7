package http1

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
)

// traced makes the call report to the trace of a context, if there is one.
func (c *RoundTrip) traced(ctx context.Context) {
	trace := httptrace.ContextClientTrace(ctx)
	if trace == nil {
		return
	}
	c.trace = trace
	if trace.Got1xxResponse != nil {
		c.Informational = func(status int, header http.Header) error {
			return trace.Got1xxResponse(status, textproto.MIMEHeader(header))
		}
	}
}

func (c *RoundTrip) gotConn(l *clientConn) {
	if c.trace == nil || c.trace.GotConn == nil {
		return
	}
	told := httptrace.GotConnInfo{Conn: l.conn, Reused: l.reused, WasIdle: l.reused}
	if l.reused {
		told.IdleTime = l.upstream.clock() - l.idleSince
	}
	c.trace.GotConn(told)
}

func (c *RoundTrip) wrote(err error) {
	if c.trace != nil && c.trace.WroteRequest != nil {
		c.trace.WroteRequest(wroteRequest(err))
	}
}

func wroteRequest(err error) httptrace.WroteRequestInfo {
	return httptrace.WroteRequestInfo{Err: err}
}

func (c *RoundTrip) got100() {
	if c.trace != nil && c.trace.Got100Continue != nil {
		c.trace.Got100Continue()
	}
}

func (c *RoundTrip) gotFirstByte() {
	if c.trace != nil && c.trace.GotFirstResponseByte != nil {
		c.trace.GotFirstResponseByte()
	}
}
