package entrypoint_test

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"testing"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"

	"github.com/sluiceproxy/sluice/static"
)

// TestHTTP3WebSocketThatIsNone has a handler answer an extended CONNECT as a GET: 200 would open the tunnel. The record
// has the status that was sent.
func TestHTTP3WebSocketThatIsNone(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) { c.HTTP3.ExtendedConnect = true })
	conn, err := quic.DialAddr(t.Context(), s.address, &tls.Config{
		InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}, //nolint:gosec // It is generated.
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseWithError(0, "") }()
	stream, err := new(http3.Transport).NewClientConn(conn).OpenRequestStream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendRequestHeader(&http.Request{
		Method: http.MethodConnect, Proto: "websocket", Host: s.address, Header: http.Header{},
		URL: &url.URL{Scheme: "https", Host: s.address, Path: "/"},
	}); err != nil {
		t.Fatal(err)
	}
	response, err := stream.ReadResponse()
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusNotImplemented {
		t.Errorf("the status is %d", response.StatusCode)
	}
	if record := s.record(); record.Status != http.StatusNotImplemented || record.Protocol != "websocket" {
		t.Errorf("record %+v", record)
	}
}
