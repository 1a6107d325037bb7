package stream

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/netip"
	"strconv"

	"github.com/sluiceproxy/sluice/dynamic"
)

// The constants of version 2 (https://www.haproxy.org/download/3.4/doc/proxy-protocol.txt, section 2.2).
const (
	signatureV2    = "\r\n\r\n\x00\r\nQUIT\n"
	commandLocal   = 0x20
	commandProxy   = 0x21
	familyNone     = 0x00
	familyTCP4     = 0x11
	familyTCP6     = 0x21
	typeALPN       = 0x01
	typeAuthority  = 0x02
	typeSSL        = 0x20
	typeSSLVersion = 0x21
	typeSSLName    = 0x22
	typeSSLCipher  = 0x23
	clientSSL      = 0x01
	clientCert     = 0x02
	clientResumed  = 0x04
)

// maxText bounds the values of a header that a client chooses. A name of a host is not longer, and receivers commonly
// take 4 KiB.
const maxText = 255

// proxyHeader is how PROXY headers are written. The zero value writes none.
type proxyHeader struct {
	version int
	tlvs    bool
}

func newProxyHeader(config *dynamic.ProxyProtocol) proxyHeader {
	if config == nil {
		return proxyHeader{}
	}
	return proxyHeader{version: config.Version, tlvs: config.TLVs}
}

// local returns the header of a connection of Sluice itself, or nil.
func (h proxyHeader) local() []byte {
	switch h.version {
	case 1:
		return []byte("PROXY UNKNOWN\r\n")
	case 2:
		return append([]byte(signatureV2), commandLocal, familyNone, 0, 0)
	}
	return nil
}

// client returns the header for a connection of a client, or nil: its address and the one that it connected to, if they
// are known. Addresses of both families are both written as IPv6.
func (h proxyHeader) client(c *Client) []byte {
	if h.version == 0 {
		return nil
	}
	source, destination := addressOf(c.Conn.RemoteAddr()), addressOf(c.Conn.LocalAddr())
	if !source.IsValid() || !destination.IsValid() {
		return h.local()
	}
	four := source.Addr().Is4() && destination.Addr().Is4()
	if !four {
		source, destination = asIPv6(source), asIPv6(destination)
	}
	if h.version == 1 {
		return headerV1(four, source, destination)
	}
	header := headerV2(four, source, destination)
	if h.tlvs {
		header = appendTLVs(header, c)
	}
	binary.BigEndian.PutUint16(header[len(signatureV2)+2:], uint16(len(header)-len(signatureV2)-4)) //nolint:gosec // bounded
	return header
}

// headerV1 returns a line, of 107 bytes at most.
func headerV1(four bool, source, destination netip.AddrPort) []byte {
	line := make([]byte, 0, 107)
	family := "PROXY TCP6 "
	if four {
		family = "PROXY TCP4 "
	}
	line = append(line, family...)
	line = append(source.Addr().AppendTo(line), ' ')
	line = append(destination.Addr().AppendTo(line), ' ')
	line = append(strconv.AppendUint(line, uint64(source.Port()), 10), ' ')
	return append(strconv.AppendUint(line, uint64(destination.Port()), 10), '\r', '\n')
}

// headerV2 returns a header without TLVs whose length is to be set.
func headerV2(four bool, source, destination netip.AddrPort) []byte {
	header := append(make([]byte, 0, 256), signatureV2...)
	if four {
		header = append(header, commandProxy, familyTCP4, 0, 0)
		from, to := source.Addr().As4(), destination.Addr().As4()
		header = append(append(header, from[:]...), to[:]...)
	} else {
		header = append(header, commandProxy, familyTCP6, 0, 0)
		from, to := source.Addr().As16(), destination.Addr().As16()
		header = append(append(header, from[:]...), to[:]...)
	}
	header = binary.BigEndian.AppendUint16(header, source.Port())
	return binary.BigEndian.AppendUint16(header, destination.Port())
}

// appendTLVs appends what is known of the client's TLS.
func appendTLVs(header []byte, c *Client) []byte {
	header = appendText(header, typeAuthority, c.ServerName)
	if c.TLS == nil {
		if len(c.Protocols) == 1 { // There is no choice between several here.
			header = appendText(header, typeALPN, c.Protocols[0])
		}
		return header
	}
	header = appendText(header, typeALPN, c.TLS.NegotiatedProtocol)
	presented := byte(clientSSL)
	name := ""
	if certificates := c.TLS.PeerCertificates; len(certificates) > 0 {
		presented |= clientResumed
		if !c.TLS.DidResume {
			presented |= clientCert
		}
		name = certificates[0].Subject.CommonName
	}
	verify := uint32(1)
	if len(c.TLS.VerifiedChains) > 0 {
		verify = 0
	}
	start := len(header)
	header = append(header, typeSSL, 0, 0, presented)
	header = binary.BigEndian.AppendUint32(header, verify)
	header = appendText(header, typeSSLVersion, versionName(c.TLS.Version))
	header = appendText(header, typeSSLCipher, tls.CipherSuiteName(c.TLS.CipherSuite))
	header = appendText(header, typeSSLName, name)
	binary.BigEndian.PutUint16(header[start+1:], uint16(len(header)-start-3)) //nolint:gosec // three texts
	return header
}

// appendText appends a text, unless it is empty or too long.
func appendText(header []byte, kind byte, text string) []byte {
	if text == "" || len(text) > maxText {
		return header
	}
	return append(append(header, kind, 0, byte(len(text))), text...)
}

// versionName returns a version of TLS as OpenSSL has it, by which receivers know it.
func versionName(version uint16) string {
	switch version {
	case tls.VersionTLS10:
		return "TLSv1"
	case tls.VersionTLS11:
		return "TLSv1.1"
	case tls.VersionTLS12:
		return "TLSv1.2"
	case tls.VersionTLS13:
		return "TLSv1.3"
	}
	return ""
}

// addressOf returns an address of TCP without a zone, or zero.
func addressOf(address net.Addr) netip.AddrPort {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	of := tcp.AddrPort()
	return netip.AddrPortFrom(of.Addr().Unmap().WithZone(""), of.Port())
}

// asIPv6 returns an IPv4 address as an IPv4-mapped one.
func asIPv6(address netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(address.Addr().As16()), address.Port())
}
