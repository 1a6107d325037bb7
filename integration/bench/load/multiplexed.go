package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// exchangeHTTP2 makes a connection of TLS and HTTP/2, sends one request and reads its response.
func exchangeHTTP2(ctx context.Context, o options, connection net.Conn) error {
	settings := o.tls()
	settings.NextProtos = []string{"h2"}
	secure := tls.Client(connection, settings)
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	if protocol := secure.ConnectionState().NegotiatedProtocol; protocol != "h2" {
		return fmt.Errorf("the proxy speaks %q", protocol)
	}
	var head, out bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, field := range [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", o.host}, {":path", o.path},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return err
		}
	}
	out.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&out, secure)
	if err := errors.Join(framer.WriteSettings(), framer.WriteSettingsAck(), framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: 1, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true,
	})); err != nil {
		return err
	}
	if _, err := io.Copy(secure, &out); err != nil {
		return err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		header := frame.Header()
		switch {
		case header.Type == http2.FrameRSTStream || header.Type == http2.FrameGoAway:
			return fmt.Errorf("the answer is %v", frame)
		case header.StreamID == 1 && header.Flags.Has(http2.FlagDataEndStream):
			return nil
		}
	}
}
