package stream_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/pires/go-proxyproto"
	"github.com/pires/go-proxyproto/tlvparse"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward/stream"
)

// addressed is a connection with addresses.
type addressed struct {
	net.Conn
	remote, local net.Addr
}

// RemoteAddr returns the client.
func (c addressed) RemoteAddr() net.Addr { return c.remote }

// LocalAddr returns what the client connected to.
func (c addressed) LocalAddr() net.Addr { return c.local }

func tcpAddr(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }

// parsed returns a header as go-proxyproto reads it, and demands that nothing is behind it.
func parsed(t testing.TB, header []byte) *proxyproto.Header {
	t.Helper()
	reader := bufio.NewReader(bytes.NewReader(header))
	read, err := proxyproto.Read(reader)
	if err != nil {
		t.Fatalf("%q: %v", header, err)
	}
	if rest, _ := io.ReadAll(reader); len(rest) > 0 {
		t.Fatalf("%q: %q is behind the header", header, rest)
	}
	return read
}

func TestProxyHeader(t *testing.T) {
	for _, test := range []struct {
		remote, local net.Addr
		line          string
		// source and destination are those of version 2, empty for LOCAL.
		source, destination string
	}{
		{
			tcpAddr("192.0.2.1:1"), tcpAddr("198.51.100.2:65535"), "PROXY TCP4 192.0.2.1 198.51.100.2 1 65535\r\n",
			"192.0.2.1:1", "198.51.100.2:65535",
		},
		{
			tcpAddr("[2001:db8::1]:1"), tcpAddr("[2001:db8::2]:2"), "PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n",
			"[2001:db8::1]:1", "[2001:db8::2]:2",
		},
		{
			tcpAddr("[::ffff:192.0.2.1]:1"), tcpAddr("[::ffff:198.51.100.2]:2"), "PROXY TCP4 192.0.2.1 198.51.100.2 1 2\r\n",
			"192.0.2.1:1", "198.51.100.2:2",
		},
		{
			tcpAddr("192.0.2.1:1"), tcpAddr("[2001:db8::2]:2"), "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::2 1 2\r\n",
			"192.0.2.1:1", "[2001:db8::2]:2",
		},
		{
			tcpAddr("[2001:db8::1]:1"), tcpAddr("198.51.100.2:2"), "PROXY TCP6 2001:db8::1 ::ffff:198.51.100.2 1 2\r\n",
			"[2001:db8::1]:1", "198.51.100.2:2",
		},
		{
			tcpAddr("[fe80::1%eth0]:1"), tcpAddr("[fe80::2%eth0]:2"), "PROXY TCP6 fe80::1 fe80::2 1 2\r\n",
			"[fe80::1]:1", "[fe80::2]:2",
		},
		{
			tcpAddr("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535"),
			tcpAddr("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe]:65535"),
			"PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe 65535 65535\r\n",
			"[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]:65535", "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe]:65535",
		},
		{&net.UnixAddr{Name: "@", Net: "unix"}, tcpAddr("192.0.2.1:1"), "PROXY UNKNOWN\r\n", "", ""},
		{tcpAddr("192.0.2.1:1"), &net.TCPAddr{}, "PROXY UNKNOWN\r\n", "", ""},
		{nil, nil, "PROXY UNKNOWN\r\n", "", ""},
	} {
		client := &stream.Client{Conn: addressed{remote: test.remote, local: test.local}}
		line := stream.ProxyHeader(&dynamic.ProxyProtocol{Version: 1}, client)
		if string(line) != test.line {
			t.Errorf("%v %v: got %q, want %q", test.remote, test.local, line, test.line)
		}
		first := parsed(t, line)
		second := parsed(t, stream.ProxyHeader(&dynamic.ProxyProtocol{Version: 2, TLVs: true}, client))
		if test.source == "" {
			if first.Command != proxyproto.LOCAL || second.Command != proxyproto.LOCAL {
				t.Errorf("%v %v: %+v, %+v", test.remote, test.local, first, second)
			}
			continue
		}
		for version, header := range map[int]*proxyproto.Header{1: first, 2: second} {
			from, to, ok := header.TCPAddrs()
			if !ok || !header.Command.IsProxy() || from.String() != test.source || to.String() != test.destination {
				t.Errorf("%v %v: version %d: %v, %v, %v", test.remote, test.local, version, from, to, ok)
			}
		}
	}
	if header := stream.ProxyHeader(nil, &stream.Client{}); header != nil {
		t.Errorf("without the option: %q", header)
	}
}

// described returns the TLVs of a header in words.
func described(t *testing.T, header []byte) string {
	t.Helper()
	tlvs, err := parsed(t, header).TLVs()
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, tlv := range tlvs {
		switch tlv.Type { //nolint:exhaustive // all others are unexpected
		case proxyproto.PP2_TYPE_AUTHORITY:
			words = append(words, "authority="+string(tlv.Value))
		case proxyproto.PP2_TYPE_ALPN:
			words = append(words, "alpn="+string(tlv.Value))
		case proxyproto.PP2_TYPE_SSL:
			ssl, err := tlvparse.SSL(tlv)
			if err != nil {
				t.Fatal(err)
			}
			version, _ := ssl.SSLVersion()
			cipher, _ := ssl.SSLCipher()
			name, _ := ssl.ClientCN()
			words = append(words, fmt.Sprintf("ssl(%d, verify %d, %s, %s, %s)", ssl.Client, ssl.Verify, version, cipher, name))
		default:
			t.Errorf("TLV %+v", tlv)
		}
	}
	return strings.Join(words, " ")
}

func TestTLVs(t *testing.T) {
	leaf := &x509.Certificate{Subject: pkix.Name{CommonName: "anna"}}
	for want, client := range map[string]stream.Client{
		"": {ServerName: strings.Repeat("a", 256)},
		"authority=db.test alpn=postgresql": {
			ServerName: "db.test", Protocols: []string{"postgresql"},
		},
		"authority=db.test": {ServerName: "db.test", Protocols: []string{"h2", "http/1.1"}},
		"authority=db.test alpn=h2 ssl(1, verify 1, TLSv1.3, TLS_AES_128_GCM_SHA256, )": {
			ServerName: "db.test", Protocols: []string{"h2", "http/1.1"},
			TLS: &tls.ConnectionState{
				Version: tls.VersionTLS13, CipherSuite: tls.TLS_AES_128_GCM_SHA256, NegotiatedProtocol: "h2",
			},
		},
		"ssl(7, verify 0, TLSv1.2, TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, anna)": {
			TLS: &tls.ConnectionState{
				Version: tls.VersionTLS12, CipherSuite: tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
				PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: [][]*x509.Certificate{{leaf}},
			},
		},
		"ssl(5, verify 1, TLSv1.1, TLS_RSA_WITH_AES_128_CBC_SHA, anna)": {
			TLS: &tls.ConnectionState{
				Version: tls.VersionTLS11, CipherSuite: tls.TLS_RSA_WITH_AES_128_CBC_SHA, DidResume: true,
				PeerCertificates: []*x509.Certificate{leaf},
			},
		},
		"ssl(7, verify 0, TLSv1, TLS_RSA_WITH_AES_128_CBC_SHA, )": {
			TLS: &tls.ConnectionState{
				Version: tls.VersionTLS10, CipherSuite: tls.TLS_RSA_WITH_AES_128_CBC_SHA,
				PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: strings.Repeat("a", 256)}}},
				VerifiedChains:   [][]*x509.Certificate{{leaf}},
			},
		},
	} {
		client.Conn = addressed{remote: tcpAddr("192.0.2.1:1"), local: tcpAddr("198.51.100.2:2")}
		if got := described(t, stream.ProxyHeader(&dynamic.ProxyProtocol{Version: 2, TLVs: true}, &client)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if got := described(t, stream.ProxyHeader(&dynamic.ProxyProtocol{Version: 2}, &client)); got != "" {
			t.Errorf("without the option: %q", got)
		}
	}
}

// FuzzProxyHeader has go-proxyproto read what was written for any addresses and names.
func FuzzProxyHeader(f *testing.F) {
	f.Add([]byte{192, 0, 2, 1}, uint16(1), []byte{198, 51, 100, 2}, uint16(65535), "db.test", "h2", "anna", true)
	f.Add(make([]byte, 16), uint16(0), []byte{198, 51, 100, 2}, uint16(2), strings.Repeat("a", 255), "", "\x00\r\n", false)
	f.Add([]byte{}, uint16(0), []byte{1}, uint16(2), "", "\r\n", "", true)
	f.Fuzz(func(
		t *testing.T, remote []byte, remotePort uint16, local []byte, localPort uint16,
		name, protocol, common string, tls13 bool,
	) {
		client := &stream.Client{ServerName: name, Protocols: []string{protocol}, Conn: addressed{
			remote: &net.TCPAddr{IP: remote, Port: int(remotePort)}, local: &net.TCPAddr{IP: local, Port: int(localPort)},
		}}
		if tls13 {
			client.TLS = &tls.ConnectionState{
				Version: tls.VersionTLS13, NegotiatedProtocol: protocol,
				PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: common}}},
			}
		}
		from, okFrom := netip.AddrFromSlice(remote)
		to, okTo := netip.AddrFromSlice(local)
		for _, config := range []dynamic.ProxyProtocol{{Version: 1}, {Version: 2}, {Version: 2, TLVs: true}} {
			header := parsed(t, stream.ProxyHeader(&config, client))
			if _, err := header.TLVs(); err != nil {
				t.Errorf("%+v: %v", config, err)
			}
			if header.Command.IsLocal() != (!okFrom || !okTo) {
				t.Errorf("%+v: %v for %v and %v", config, header.Command, remote, local)
			}
			if header.Command.IsLocal() {
				continue
			}
			source, destination, ok := header.TCPAddrs()
			if !ok || source.AddrPort().Addr().Unmap() != from.Unmap() || destination.AddrPort().Addr().Unmap() != to.Unmap() ||
				source.Port != int(remotePort) || destination.Port != int(localPort) {
				t.Errorf("%+v: %v, %v for %v, %v", config, source, destination, from, to)
			}
		}
	})
}

// TestProxyHeaderComesFirst reads the header before the handshake, by the transport's option and by the service's.
func TestProxyHeaderComesFirst(t *testing.T) {
	first := make(chan string, 10)
	address := listen(t, func(conn *net.TCPConn) {
		reader := bufio.NewReader(conn)
		header, err := proxyproto.Read(reader)
		if err != nil {
			t.Error(err)
			return
		}
		next, _ := reader.Peek(1)
		first <- fmt.Sprintf("%d %s %s %q", header.Version, header.SourceAddr, header.DestinationAddr, next)
	})
	two := forEver()
	two.ProxyProtocol = &dynamic.ProxyProtocol{Version: 2}
	one := &dynamic.ProxyProtocol{Version: 1}
	for name, test := range map[string]struct {
		s       setup
		version int
		next    string
	}{
		"transport":         {setup{transport: two}, 2, `"x"`},
		"transport and TLS": {setup{transport: two, servers: []dynamic.TCPServer{{Address: address, TLS: true}}}, 2, `"\x16"`},
		"service":           {setup{options: stream.Options{ProxyProtocol: one}}, 1, `"x"`},
		"both":              {setup{transport: two, options: stream.Options{ProxyProtocol: one}}, 2, `"x"`},
	} {
		if test.s.servers == nil {
			test.s.servers = servers(address)
		}
		g := newRig(t, test.s)
		client := g.dial(t)
		_, _ = io.WriteString(client, "x")
		want := fmt.Sprintf("%d %s %s %s", test.version, client.LocalAddr(), client.RemoteAddr(), test.next)
		equal(t, name, receive(t, first), want)
		_ = client.Close()
	}
}
