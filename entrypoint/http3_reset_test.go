package entrypoint_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/telemetry"
)

// expectingHead returns HEADERS of a GET that waits for 100 Continue, encoded by the static table of QPACK (RFC 9204,
// appendix A).
func expectingHead(authority string) []byte {
	block := append([]byte{0, 0, 0xc0 | 17, 0xc0 | 23, 0xc0 | 1, 0x50, byte(len(authority))}, authority...)
	block = append(append(block, 0x26), "expect"...)
	block = append(append(block, byte(len("100-continue"))), "100-continue"...)
	return append([]byte{1, 0x40, byte(len(block))}, block...) // The length takes two bytes.
}

// TestHTTP3Resets closes the connection of a client that cancels its requests, in each of the ways that there are, and
// while the handler runs or while the entrypoint waits for the first byte of a body. Each request has begun when it is
// cancelled, since the client has read the beginning of 100 Continue.
func TestHTTP3Resets(t *testing.T) {
	t.Parallel()
	cancelled := quic.StreamErrorCode(http3.ErrCodeRequestCanceled)
	for name, c := range map[string]struct {
		ended  bool
		cancel func(stream *quic.Stream)
	}{
		"while the handler runs": {ended: true, cancel: func(stream *quic.Stream) { stream.CancelRead(cancelled) }},
		"STOP_SENDING":           {cancel: func(stream *quic.Stream) { stream.CancelRead(cancelled) }},
		"RESET_STREAM":           {cancel: func(stream *quic.Stream) { stream.CancelWrite(cancelled) }},
		"both": {cancel: func(stream *quic.Stream) {
			stream.CancelWrite(cancelled)
			stream.CancelRead(cancelled)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			handled := make(chan struct{}, 1)
			s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				handled <- struct{}{}
				<-r.Context().Done()
				telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
			}), nil)
			conn, err := quic.DialAddr(t.Context(), s.address, &tls.Config{
				InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for conn.Context().Err() == nil {
				if !cancelOne(t, conn, expectingHead(s.address), c.ended, handled, c.cancel) {
					break
				}
				record := receive(t, s.records, "a record")
				if record.Status != telemetry.StatusClientClosedRequest || record.Code != telemetry.CodeClientLeft {
					t.Fatalf("the record has the status %d and the code %q", record.Status, record.Code)
				}
			}
			receive(t, conn.Context().Done(), "the end of the connection")
			if cause := receive(t, s.causes, "the cause"); cause != "resets" {
				t.Errorf("the cause is %s", cause)
			}
			ended, ok := errors.AsType[*quic.ApplicationError](context.Cause(conn.Context()))
			if !ok || http3.ErrCode(ended.ErrorCode) != http3.ErrCodeExcessiveLoad {
				t.Errorf("the connection has ended by %v", context.Cause(conn.Context()))
			}
		})
	}
}

// cancelOne begins a request, and cancels it. It returns false when the connection has ended.
func cancelOne(
	t *testing.T, conn *quic.Conn, head []byte, ended bool, handled <-chan struct{}, cancel func(*quic.Stream),
) bool {
	t.Helper()
	stream, err := conn.OpenStreamSync(t.Context())
	if err != nil {
		return false
	}
	if _, err := stream.Write(head); err != nil {
		return false
	}
	if _, err := stream.Read(make([]byte, 1)); err != nil {
		return false
	}
	if ended {
		_ = stream.Close()
		select {
		case <-handled:
		case <-conn.Context().Done():
			return false
		}
	}
	cancel(stream)
	return true
}
