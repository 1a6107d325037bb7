package h3

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/quic-go/quic-go/http3"
)

// errLeft is what reading a body returns after the client has cancelled the request.
var errLeft = errors.New("h3: the client has cancelled the request")

// body is the body of a request. quic-go ends the context of a request only when the client stops reading the response
// (STOP_SENDING), and fails reads only when the client resets its own direction (RESET_STREAM); here either does both,
// since a client may cancel a request by one alone (RFC 9114, section 4.1.1).
type body struct {
	io.ReadCloser
	context context.Context //nolint:containedctx // It is that of the request.
	cancel  context.CancelFunc
}

// watch makes a reset by the client end the context of the request, and the end of the context end reads. release must
// be called when the handler has returned.
func watch(w http.ResponseWriter, r *http.Request, t *tunnel) (release func()) {
	if t != nil {
		return watchTunnel(r, t)
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(ctx, func() { _ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) })
	// quic-go stores trailers in this very request.
	*r = *r.WithContext(ctx)
	r.Body = &body{ReadCloser: r.Body, context: ctx, cancel: cancel}
	return func() {
		stop()
		cancel()
	}
}

// watchTunnel ends the context of an extended CONNECT with its stream until the handler has taken that over.
func watchTunnel(r *http.Request, t *tunnel) (release func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	stop := context.AfterFunc(r.Context(), func() {
		if !t.taken.Load() {
			cancel()
		}
	})
	*r = *r.WithContext(ctx)
	return func() {
		stop()
		cancel()
	}
}

// Read reads from the body.
func (b *body) Read(p []byte) (int, error) {
	if b.context.Err() != nil {
		return 0, errLeft
	}
	n, err := b.ReadCloser.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	// H3_NO_ERROR is for a client that needs not send the rest, and waits for the response.
	if reset, ok := errors.AsType[*http3.Error](err); ok && reset.Remote && reset.ErrorCode != http3.ErrCodeNoError {
		b.cancel()
	}
	if b.context.Err() != nil {
		return n, errLeft
	}
	return n, err
}
