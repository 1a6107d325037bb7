package identity

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// timeout bounds a response.
const timeout = 30 * time.Second

// lane is a way from clients to the endpoint.
type lane struct {
	world      *world
	entrypoint string
	// version is the client's HTTP version, 1 or 2.
	version int
	// known is set if the client has a certificate.
	known    bool
	upstream string
}

// lanes are the combinations for a header: every protocol of clients and of endpoints, and for headers of middlewares,
// entrypoints that trust the peer, or that keep headers named by Connection.
func (w *world) lanes(r row) []lane {
	all := []lane{
		{w, "web", 1, false, "h1"},
		{w, "web", 1, false, "h2c"},
		{w, "web", 2, false, "h1"},
		{w, "web", 2, false, "h2c"},
		{w, "websecure", 2, true, "h1"},
	}
	if strings.Contains(r.header, "Client-Cert") {
		all = append(all, lane{w, "websecure", 1, true, "h2c"}, lane{w, "websecure", 1, false, "h1"},
			lane{w, "websecure", 2, false, "h2c"})
	}
	if !r.claimed {
		all = append(all, lane{w, "trusting", 1, false, "h2c"}, lane{w, "trusting", 2, false, "h1"},
			lane{w, "keeping", 1, false, "h1"})
	}
	return all
}

func (l lane) name() string {
	known := ""
	if l.known {
		known = " with a certificate"
	}
	return fmt.Sprintf("HTTP/%d to %s%s to %s", l.version, l.entrypoint, known, l.upstream)
}

func (l lane) secure() bool { return l.entrypoint == "websecure" }

func (l lane) scheme() string {
	if l.secure() {
		return "https"
	}
	return "http"
}

func (l lane) port() string {
	if l.secure() {
		return "443"
	}
	return "80"
}

func (l lane) ifKnown(value string) []string {
	if l.known {
		return []string{value}
	}
	return nil
}

// dial connects for the lane.
func (l lane) dial(ctx context.Context, address, host string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil || !l.secure() {
		return conn, err
	}
	settings := l.world.settings.Clone()
	settings.ServerName, settings.NextProtos = host, []string{"http/1.1"}
	if l.version == 2 {
		settings.NextProtos = []string{"h2"}
	}
	if !l.known {
		settings.Certificates = nil
	}
	secured := tls.Client(conn, settings)
	return secured, secured.HandshakeContext(ctx)
}

// message is a request that is to be sent.
type message struct {
	attempt

	host, target string
	// credentials are fields that let the client in.
	credentials []field
}

// wire is a connection of a client that sends one message after the other.
type wire struct {
	lane    lane
	address string
	host    string

	conn   net.Conn
	reader *bufio.Reader
	framer *http2.Framer
	block  *bytes.Buffer
	coder  *hpack.Encoder
	stream uint32
}

// send sends a message and returns the status. After an error, the next message has a new connection.
func (w *wire) send(ctx context.Context, m message) (status int, err error) {
	if w.conn == nil {
		if w.conn, err = w.lane.dial(ctx, w.address, m.host); err != nil {
			return 0, err
		}
		w.begin()
	}
	_ = w.conn.SetDeadline(time.Now().Add(timeout))
	if w.lane.version == 2 {
		status, err = w.exchange2(m)
	} else {
		status, err = w.exchange1(m)
	}
	if err != nil || m.malformed {
		w.close()
	}
	return status, err
}

func (w *wire) begin() {
	w.reader = bufio.NewReader(w.conn)
	if w.lane.version == 1 {
		return
	}
	w.framer, w.stream, w.block = http2.NewFramer(w.conn, w.reader), 1, new(bytes.Buffer)
	w.framer.AllowIllegalWrites = true
	w.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	w.coder = hpack.NewEncoder(w.block)
	_, _ = io.WriteString(w.conn, http2.ClientPreface) // Reading fails where writing does.
	_ = w.framer.WriteSettings()
}

func (w *wire) close() {
	if w.conn != nil {
		_ = w.conn.Close()
		w.conn = nil
	}
}

// exchange1 uses HTTP/1.1.
func (w *wire) exchange1(m message) (status int, err error) {
	var b strings.Builder
	version, body := "HTTP/1.1", "1\r\na\r\n0\r\n"
	framing := "Transfer-Encoding: chunked"
	if m.version != "" {
		version = m.version
	}
	if version == "HTTP/1.0" {
		framing, body = "Content-Length: 1", "a"
	}
	_, _ = fmt.Fprintf(&b, "POST %s %s\r\nHost: %s\r\n%s\r\n", m.target, version, m.host, framing)
	write := func(fields []field) {
		for _, f := range fields {
			if f.name != "" {
				_, _ = b.WriteString(f.name + ": ")
			}
			_, _ = b.WriteString(f.value + "\r\n")
		}
		_, _ = b.WriteString("\r\n")
	}
	write(append(m.credentials, m.head...))
	_, _ = b.WriteString(body)
	if framing != "Content-Length: 1" {
		write(m.trailer)
	}
	if _, err := io.WriteString(w.conn, b.String()); err != nil {
		return 0, err
	}
	response, err := http.ReadResponse(w.reader, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.Close {
		w.close()
	}
	return response.StatusCode, err
}

// exchange2 uses HTTP/2.
func (w *wire) exchange2(m message) (status int, err error) {
	id := w.stream
	w.stream += 2
	var head []field
	for _, pseudo := range []field{
		{":method", "POST"},
		{":scheme", w.lane.scheme()},
		{":authority", m.host},
		{":path", m.target},
	} {
		if value, replaced := m.pseudo[pseudo.name]; replaced {
			pseudo.value = value
		}
		if pseudo.value != "\x00" {
			head = append(head, pseudo)
		}
	}
	if value, more := m.pseudo[":protocol"]; more {
		head = append(head, field{":protocol", value})
	}
	head = append(append(head, lowered(m.credentials)...), m.fields(m.head)...)
	_ = w.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: w.encode(head), EndHeaders: true})
	_ = w.framer.WriteData(id, m.trailer == nil, []byte("a"))
	if m.trailer != nil {
		_ = w.framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: id, BlockFragment: w.encode(m.fields(m.trailer)),
			EndHeaders: true, EndStream: true,
		})
	}
	return w.answer(id)
}

// fields are as a client of HTTP/2 writes them, unless they are meant to be wrong.
func (m message) fields(given []field) []field {
	if m.malformed {
		return given
	}
	return lowered(given)
}

func lowered(given []field) []field {
	fields := make([]field, len(given))
	for i, f := range given {
		fields[i] = field{strings.ToLower(f.name), f.value}
	}
	return fields
}

func (w *wire) encode(fields []field) []byte {
	w.block.Reset()
	for _, f := range fields {
		_ = w.coder.WriteField(hpack.HeaderField{Name: f.name, Value: f.value}) // Into memory.
	}
	return bytes.Clone(w.block.Bytes())
}

// answer reads until the stream has ended.
func (w *wire) answer(id uint32) (status int, err error) {
	for {
		frame, err := w.framer.ReadFrame()
		if err != nil {
			return 0, err
		}
		if refused, ok := frame.(*http2.GoAwayFrame); ok {
			return 0, errors.New("goaway: " + refused.ErrCode.String())
		}
		if settings, ok := frame.(*http2.SettingsFrame); ok && !settings.IsAck() {
			_ = w.framer.WriteSettingsAck()
		}
		if frame.Header().StreamID != id {
			continue // frames of an earlier stream, too
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if text := frame.PseudoValue("status"); text != "" {
				if status, err = strconv.Atoi(text); err != nil {
					return 0, err
				}
			}
			if frame.StreamEnded() {
				return status, nil
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				return status, nil
			}
		case *http2.RSTStreamFrame:
			return 0, errors.New("reset: " + frame.ErrCode.String())
		}
	}
}
