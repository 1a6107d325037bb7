package dns01

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"
)

const (
	// queryTimeout is the limit of one query.
	queryTimeout = 5 * time.Second
	// maxAliases is how many CNAMEs are followed.
	maxAliases = 50
	// payload is the size of a UDP answer that arrives on usual networks in one piece.
	payload = 1232
)

// resolver asks DNS servers.
type resolver struct {
	servers []string // recursive ones, in order of preference
	port    string   // of authoritative servers
	timeout time.Duration
	aliases bool // CNAMEs of a challenge's name are followed.
}

// newResolver makes a resolver. LEGO_DISABLE_CNAME_SUPPORT counts here as it does for the providers.
func newResolver(servers []string) resolver {
	disabled, _ := strconv.ParseBool(os.Getenv("LEGO_DISABLE_CNAME_SUPPORT"))
	return resolver{servers: servers, port: "53", timeout: queryTimeout, aliases: !disabled}
}

// server is a name server, which may have several addresses.
type server struct {
	name      string // empty for a resolver
	addresses []string
}

// String names the server in errors.
func (s server) String() string {
	if s.name == "" {
		return "the resolver " + strings.Join(s.addresses, ", ")
	}
	return "the name server " + s.name + " (" + strings.Join(s.addresses, ", ") + ")"
}

// exchange asks one address: over UDP, and over TCP when the answer is truncated.
func (r resolver) exchange(ctx context.Context, address, name string, kind uint16, recursive bool) (*dns.Msg, error) {
	question := new(dns.Msg).SetQuestion(name, kind)
	question.RecursionDesired = recursive
	question.SetEdns0(payload, false)
	client := &dns.Client{Net: "udp", Timeout: r.timeout}
	answer, _, err := client.ExchangeContext(ctx, question, address)
	if answer != nil && answer.Truncated {
		client.Net = "tcp"
		answer, _, err = client.ExchangeContext(ctx, question, address)
	}
	if err != nil {
		return nil, fmt.Errorf("asking %s for %s of %s: %w", address, dns.TypeToString[kind], name, err)
	}
	if answer.Rcode != dns.RcodeSuccess && answer.Rcode != dns.RcodeNameError {
		return nil, fmt.Errorf("asking %s for %s of %s: it answers %s",
			address, dns.TypeToString[kind], name, dns.RcodeToString[answer.Rcode])
	}
	return answer, nil
}

// ask asks the resolvers in turn until one answers.
func (r resolver) ask(ctx context.Context, name string, kind uint16) (*dns.Msg, error) {
	failed := make([]error, 0, len(r.servers))
	for _, address := range r.servers {
		answer, err := r.exchange(ctx, address, name, kind, true)
		if err == nil {
			return answer, nil
		}
		failed = append(failed, err)
	}
	return nil, joined(failed)
}

// follow returns the name that the record of a challenge has, after the CNAMEs that delegate it.
func (r resolver) follow(ctx context.Context, name string) (string, error) {
	if !r.aliases {
		return name, nil
	}
	for range maxAliases {
		answer, err := r.ask(ctx, name, dns.TypeCNAME)
		if err != nil {
			return "", err
		}
		target := alias(answer, name)
		if target == "" {
			return name, nil
		}
		name = target
	}
	return "", fmt.Errorf("more than %d CNAMEs lead to %s", maxAliases, name)
}

// alias returns what a name is a CNAME of; empty if it is none.
func alias(answer *dns.Msg, name string) string {
	for _, one := range answer.Answer {
		if cname, ok := one.(*dns.CNAME); ok && strings.EqualFold(cname.Hdr.Name, name) {
			return dns.Fqdn(cname.Target)
		}
	}
	return ""
}

// values returns the TXT records of a name at a server. Of several addresses the first one that answers counts.
func (r resolver) values(ctx context.Context, at server, name string, recursive bool) ([]string, error) {
	failed := make([]error, 0, len(at.addresses))
	for _, address := range at.addresses {
		answer, err := r.exchange(ctx, address, name, dns.TypeTXT, recursive)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		var values []string
		for _, one := range answer.Answer {
			if txt, ok := one.(*dns.TXT); ok {
				values = append(values, strings.Join(txt.Txt, ""))
			}
		}
		return values, nil
	}
	return nil, fmt.Errorf("%s: %w", at, joined(failed))
}

// authorities returns the authoritative servers of the zone that a name is in.
func (r resolver) authorities(ctx context.Context, name string) ([]server, error) {
	zone, err := r.zone(ctx, name)
	if err != nil {
		return nil, err
	}
	answer, err := r.ask(ctx, zone, dns.TypeNS)
	if err != nil {
		return nil, err
	}
	var servers []server
	for _, one := range answer.Answer {
		ns, ok := one.(*dns.NS)
		if !ok {
			continue
		}
		addresses, err := r.addresses(ctx, ns.Ns)
		if err != nil {
			return nil, err
		}
		servers = append(servers, server{name: ns.Ns, addresses: addresses})
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("the zone %s has no name servers", zone)
	}
	return servers, nil
}

// zone returns the zone that a name is in: the nearest parent with a record of the start of authority.
func (r resolver) zone(ctx context.Context, name string) (string, error) {
	for _, offset := range dns.Split(name) {
		parent := name[offset:]
		answer, err := r.ask(ctx, parent, dns.TypeSOA)
		if err != nil {
			return "", err
		}
		for _, one := range answer.Answer {
			if soa, ok := one.(*dns.SOA); ok && strings.EqualFold(soa.Hdr.Name, parent) {
				return soa.Hdr.Name, nil
			}
		}
		if alias(answer, parent) != "" {
			continue // The rest is about the zone of the target.
		}
		// The answer that there is no such record says of which zone.
		for _, one := range answer.Ns {
			if soa, ok := one.(*dns.SOA); ok && dns.IsSubDomain(soa.Hdr.Name, parent) && soa.Hdr.Name != "." {
				return soa.Hdr.Name, nil
			}
		}
	}
	return "", fmt.Errorf("no zone was found for %s", name)
}

// addresses returns the addresses of a name server, IPv4 first.
func (r resolver) addresses(ctx context.Context, host string) ([]string, error) {
	var addresses []string
	var failed []error
	for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA} {
		answer, err := r.ask(ctx, dns.Fqdn(host), kind)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		for _, one := range answer.Answer {
			switch one := one.(type) {
			case *dns.A:
				addresses = append(addresses, net.JoinHostPort(one.A.String(), r.port))
			case *dns.AAAA:
				addresses = append(addresses, net.JoinHostPort(one.AAAA.String(), r.port))
			}
		}
	}
	if len(addresses) > 0 {
		return addresses, nil
	}
	if len(failed) == 0 {
		failed = append(failed, errors.New("it has no address"))
	}
	return nil, fmt.Errorf("the name server %s: %w", host, joined(failed))
}
