package image

import (
	"net"
	"net/netip"

	"github.com/miekg/dns"
)

// startDNS starts a DNS server on port 53 that answers as CoreDNS's plugin whoami: NOERROR with the client's address in
// the additional section.
func startDNS(c Container, host string) ([]program, error) {
	return servePackets(host, "53", func(payload []byte, from net.Addr) []byte {
		query := new(dns.Msg)
		if query.Unpack(payload) != nil || query.Response || len(query.Question) != 1 {
			return nil
		}
		name := query.Question[0].Name
		c.printf("Query for %s of %s\n", name, from)
		reply := new(dns.Msg).SetReply(query)
		reply.Authoritative = true
		if record := addressRecord(name, from); record != nil {
			reply.Extra = append(reply.Extra, record)
		}
		packed, err := reply.Pack()
		if err != nil {
			return nil
		}
		return packed
	})
}

// addressRecord returns an A or AAAA record with a client's address.
func addressRecord(name string, from net.Addr) dns.RR {
	client, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return nil
	}
	address := client.Addr().Unmap()
	header := dns.RR_Header{Name: name, Class: dns.ClassINET}
	if address.Is4() {
		header.Rrtype = dns.TypeA
		return &dns.A{Hdr: header, A: address.AsSlice()}
	}
	header.Rrtype = dns.TypeAAAA
	return &dns.AAAA{Hdr: header, AAAA: address.AsSlice()}
}
