package entrypoint

import (
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"time"

	"golang.org/x/crypto/cryptobyte"
)

const (
	// helloBytes holds the ClientHello of most clients; one with keys for ML-KEM has about 1.5 to 2 KiB.
	helloBytes = 2 << 10
	// maxHello bounds the bytes, record headers included, that are read of a ClientHello, and maxMessage the message, as
	// crypto/tls does.
	maxHello   = 72 << 10
	maxMessage = 64 << 10
	// recordHeader and messageHeader are the lengths of the headers of a record and of a handshake message, and maxRecord
	// what a record carries at most (RFC 8446, sections 5.1 and 4).
	recordHeader  = 5
	maxRecord     = 16 << 10
	messageHeader = 4
	// typeClientHello is the type of the handshake message.
	typeClientHello = 1
	// extensionServerName and extensionALPN are types of extensions (RFC 6066, section 3; RFC 7301, section 3.1).
	extensionServerName = 0
	extensionALPN       = 16
)

// errLongOne begins as the errors of crypto/tls about what a client sends: metrics count it among those.
var errLongOne = errors.New("tls: the ClientHello is too large")

// clientHello is what a client offers at the beginning of TLS (RFC 8446, section 4.1.2): the SNI in lower case without
// a final dot, empty where it sends none, and the names in ALPN, in its order.
type clientHello struct {
	serverName string
	protocols  []string
}

// readHello reads the ClientHello of a connection, over as many records and segments as it has, and leaves its bytes to
// be read again. A malformed message is no error: the handshake of the server that gets the connection reports it.
// Errors count as those of a handshake.
func (e *Entrypoint) readHello(c *connection) (clientHello, error) {
	var scan helloScan
	for waiting := false; ; waiting = true {
		switch scan.next(c.replay) {
		case matches:
			return parseHello(scan.message), nil
		case noMatch:
			return clientHello{}, nil
		}
		err := errLongOne
		if len(c.replay) < maxHello {
			err = e.readHelloMore(c, waiting)
		}
		switch {
		case errors.Is(err, io.EOF):
			return clientHello{}, nil
		case err != nil:
			if counter := e.deps.Handshakes; counter != nil {
				counter.HandshakeFailed(err)
			}
			return clientHello{}, err
		}
	}
}

// readHelloMore reads behind the first bytes, for all of which together there is the time of a handshake.
func (e *Entrypoint) readHelloMore(c *connection, waiting bool) error {
	if !waiting {
		if err := c.Conn.SetReadDeadline(time.Now().Add(e.settings.opening)); err != nil {
			return err
		}
	}
	if len(c.replay) == cap(c.replay) {
		larger := make([]byte, len(c.replay), min(max(2*len(c.replay), helloBytes), maxHello))
		copy(larger, c.replay)
		c.replay = larger
	}
	n, err := c.Conn.Read(c.replay[len(c.replay):min(cap(c.replay), maxHello)])
	c.replay = c.replay[:len(c.replay)+n]
	if n > 0 {
		return nil
	}
	return err
}

// helloScan collects the first handshake message from the records that carry it (RFC 8446, section 5.1).
type helloScan struct {
	// at is where the next record begins.
	at int
	// message is what has come of the message, and all of it without its header in the end.
	message []byte
}

// next goes on in the bytes of the connection, which begin with those of the last call.
func (h *helloScan) next(read []byte) match {
	for {
		record := read[h.at:]
		switch {
		case len(record) > 0 && record[0] != recordHandshake:
			return noMatch
		case len(record) < recordHeader:
			return needsMore
		}
		length := int(record[3])<<8 | int(record[4])
		end := recordHeader + length
		switch {
		case length > maxRecord:
			return noMatch
		case len(record) < end:
			return needsMore
		}
		h.at += end
		if h.message == nil {
			h.message = record[recordHeader:end:end]
		} else {
			h.message = append(h.message, record[recordHeader:end]...)
		}
		if len(h.message) < messageHeader {
			continue
		}
		length = int(h.message[1])<<16 | int(h.message[2])<<8 | int(h.message[3])
		switch {
		case h.message[0] != typeClientHello || length > maxMessage:
			return noMatch
		case len(h.message) >= messageHeader+length:
			h.message = h.message[messageHeader : messageHeader+length]
			return matches
		}
	}
}

// parseHello returns what a ClientHello without its header offers: nothing where it is malformed. Of other extensions
// than the two only the lengths are checked.
func parseHello(message []byte) clientHello {
	var hello clientHello
	var skipped, extensions cryptobyte.String
	s := cryptobyte.String(message)
	if !s.Skip(2+32) || // legacy_version and random
		!s.ReadUint8LengthPrefixed(&skipped) || // legacy_session_id
		!s.ReadUint16LengthPrefixed(&skipped) || // cipher_suites
		!s.ReadUint8LengthPrefixed(&skipped) || // legacy_compression_methods
		!s.ReadUint16LengthPrefixed(&extensions) || !s.Empty() {
		return clientHello{}
	}
	for seen := [2]bool{}; !extensions.Empty(); {
		var extension uint16
		var data cryptobyte.String
		if !extensions.ReadUint16(&extension) || !extensions.ReadUint16LengthPrefixed(&data) {
			return clientHello{}
		}
		ok := true
		switch extension {
		case extensionServerName:
			ok = !seen[0] && hello.parseName(data)
			seen[0] = true
		case extensionALPN:
			ok = !seen[1] && hello.parseProtocols(data)
			seen[1] = true
		}
		if !ok {
			return clientHello{}
		}
	}
	return hello
}

// parseName takes the name of a host from the extension server_name, in which there may be one.
func (h *clientHello) parseName(data cryptobyte.String) bool {
	var names cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&names) || !data.Empty() || names.Empty() {
		return false
	}
	for found := false; !names.Empty(); {
		var kind uint8
		var name cryptobyte.String
		if !names.ReadUint8(&kind) || !names.ReadUint16LengthPrefixed(&name) || name.Empty() {
			return false
		}
		if kind != 0 {
			continue
		}
		if found {
			return false
		}
		found = true
		h.serverName = normalServerName(string(name))
	}
	return true
}

// parseProtocols takes the names from the extension application_layer_protocol_negotiation.
func (h *clientHello) parseProtocols(data cryptobyte.String) bool {
	var names cryptobyte.String
	if !data.ReadUint16LengthPrefixed(&names) || !data.Empty() || names.Empty() {
		return false
	}
	for !names.Empty() {
		var name cryptobyte.String
		if !names.ReadUint8LengthPrefixed(&name) || name.Empty() {
			return false
		}
		h.protocols = append(h.protocols, string(name))
	}
	return true
}

// serverName returns the SNI of a ClientHello in the form in which names are compared.
func serverName(hello *tls.ClientHelloInfo) string { return normalServerName(hello.ServerName) }

// normalServerName returns a name in lower case without a final dot.
func normalServerName(name string) string { return strings.TrimSuffix(strings.ToLower(name), ".") }
