package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	mdns "github.com/miekg/dns"
)

// udpSize is the EDNS0 buffer size: the largest without fragmentation (DNS Flag Day 2020).
const udpSize = 1232

// query queries the servers in turn until one answers. After SERVFAIL, REFUSED or a timeout the next one is used.
func (s *system) query(ctx context.Context, name string, kind uint16) family {
	var last error
	for range max(s.config.Attempts, 1) {
		for _, server := range s.servers {
			answer, err := s.queryServer(ctx, server, name, kind)
			if err == nil {
				return read(answer, name, kind)
			}
			if last = err; ctx.Err() != nil {
				return family{err: last}
			}
		}
	}
	return family{err: last}
}

// queryServer queries one server: by UDP, without EDNS0 if the server does not support it, and by TCP if the answer was
// truncated.
func (s *system) queryServer(ctx context.Context, server, name string, kind uint16) (*mdns.Msg, error) {
	question := new(mdns.Msg).SetQuestion(name, kind)
	question.SetEdns0(udpSize, false)
	answer, err := s.exchange(ctx, "udp", server, question)
	if err == nil && answer.Rcode == mdns.RcodeFormatError {
		question.Extra = nil
		answer, err = s.exchange(ctx, "udp", server, question)
	}
	if err == nil && answer.Truncated {
		answer, err = s.exchange(ctx, "tcp", server, question)
	}
	if err != nil {
		return nil, err
	}
	if answer.Rcode != mdns.RcodeSuccess && answer.Rcode != mdns.RcodeNameError {
		return nil, fmt.Errorf("server %s answers %s", server, mdns.RcodeToString[answer.Rcode])
	}
	return answer, nil
}

// exchange sends one query and reads its answer. It returns when ctx ends.
func (s *system) exchange(ctx context.Context, network, server string, question *mdns.Msg) (*mdns.Msg, error) {
	timeout := DefaultTimeout
	if s.config.Timeout > 0 {
		timeout = time.Duration(s.config.Timeout) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client := &mdns.Client{Net: network, Timeout: timeout}
	connection, err := client.DialContext(ctx, server)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", server, plain(err))
	}
	defer func() { _ = connection.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = connection.Close() })
	defer stop()
	answer, _, err := client.ExchangeWithConnContext(ctx, question, connection)
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", server, plain(err))
	}
	if len(answer.Question) != 1 || answer.Question[0].Qtype != question.Question[0].Qtype ||
		!strings.EqualFold(answer.Question[0].Name, question.Question[0].Name) {
		return nil, fmt.Errorf("server %s answers another question", server)
	}
	return answer, nil
}

// plain shortens network errors, which name both ends.
func plain(err error) error {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return errors.New("no answer in time")
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Err
	}
	return err
}

// read returns the addresses in an answer, following aliases (RFC 1034, section 3.6.2).
func read(answer *mdns.Msg, name string, kind uint16) family {
	result := family{missing: answer.Rcode == mdns.RcodeNameError, ttl: negative(answer)}
	ttl := ^uint32(0)
	owner := name
	for range answer.Answer { // at most one alias for each record, so that loops end
		target := ""
		for _, record := range answer.Answer {
			alias, ok := record.(*mdns.CNAME)
			if ok && strings.EqualFold(alias.Hdr.Name, owner) {
				target, ttl = alias.Target, min(ttl, alias.Hdr.Ttl)
				break
			}
		}
		if target == "" {
			break
		}
		owner = target
	}
	for _, record := range answer.Answer {
		if !strings.EqualFold(record.Header().Name, owner) || record.Header().Rrtype != kind {
			continue
		}
		var raw net.IP
		switch one := record.(type) {
		case *mdns.A:
			raw = one.A
		case *mdns.AAAA:
			raw = one.AAAA
		}
		if address, ok := netip.AddrFromSlice(raw); ok {
			result.addresses = append(result.addresses, address.Unmap())
			ttl = min(ttl, record.Header().Ttl)
		}
	}
	if len(result.addresses) > 0 {
		result.missing, result.ttl = false, time.Duration(ttl)*time.Second
	}
	return result
}

// negative returns the TTL of a negative answer (RFC 2308, section 5).
func negative(answer *mdns.Msg) time.Duration {
	for _, record := range answer.Ns {
		if soa, ok := record.(*mdns.SOA); ok {
			return time.Duration(min(soa.Hdr.Ttl, soa.Minttl)) * time.Second
		}
	}
	return negativeTTL
}
