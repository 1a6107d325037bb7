package dns01_test

import (
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mholt/acmez/v3/acme"
	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/acme/dns01"
	"github.com/sluiceproxy/sluice/static"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// nameServer is a DNS server over UDP and TCP with a few records.
type nameServer struct {
	address string
	mu      sync.Mutex
	records map[string][]dns.RR // by type and name
	rcodes  map[string]int      // by name
	asked   map[string]int      // by transport, type and name
	late    map[string][]dns.RR // by type and name: records that follow the second question
	update  func(*dns.Msg) int
}

// servers starts n DNS servers on 127.0.0.1, 127.0.0.2 and so on, with one port.
func servers(t *testing.T, n int) (all []*nameServer, port string) {
	t.Helper()
	for range 20 {
		if all, port = tryServers(t, n); all != nil {
			return all, port
		}
	}
	t.Fatal("no port is free on all addresses")
	return nil, ""
}

func tryServers(t *testing.T, n int) ([]*nameServer, string) {
	t.Helper()
	config, port := new(net.ListenConfig), "0"
	var running []*dns.Server
	var all []*nameServer
	stop := func() {
		for _, one := range running {
			_ = one.Shutdown()
		}
	}
	for i := range n {
		host := "127.0.0." + strconv.Itoa(i+1)
		one := &nameServer{records: map[string][]dns.RR{}, rcodes: map[string]int{}, asked: map[string]int{}}
		one.late = map[string][]dns.RR{}
		packets, err := config.ListenPacket(t.Context(), "udp", net.JoinHostPort(host, port))
		if err != nil {
			stop()
			return nil, ""
		}
		_, port, _ = net.SplitHostPort(packets.LocalAddr().String())
		one.address = net.JoinHostPort(host, port)
		listener, err := config.Listen(t.Context(), "tcp", one.address)
		if err != nil {
			_ = packets.Close()
			stop()
			return nil, ""
		}
		secrets := map[string]string{tsigKey: tsigSecret}
		accept := func(dns.Header) dns.MsgAcceptAction { return dns.MsgAccept }
		for _, server := range []*dns.Server{
			{PacketConn: packets, Handler: one, TsigSecret: secrets, MsgAcceptFunc: accept},
			{Listener: listener, Handler: one, TsigSecret: secrets, MsgAcceptFunc: accept},
		} {
			started := make(chan struct{})
			server.NotifyStartedFunc = func() { close(started) }
			go func() { _ = server.ActivateAndServe() }()
			<-started
			running = append(running, server)
		}
		all = append(all, one)
	}
	t.Cleanup(stop)
	return all, port
}

// add adds records in the format of zone files.
func (n *nameServer) add(t *testing.T, lines ...string) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, line := range lines {
		one, err := dns.NewRR(line)
		if err != nil {
			t.Fatal(err)
		}
		at := dns.TypeToString[one.Header().Rrtype] + " " + one.Header().Name
		n.records[at] = append(n.records[at], one)
	}
}

// txt replaces the TXT records of a name.
func (n *nameServer) txt(name string, values ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.records, "TXT "+name)
	for _, value := range values {
		header := dns.RR_Header{Name: name, Rrtype: dns.TypeTXT, Class: dns.ClassINET}
		n.records["TXT "+name] = append(n.records["TXT "+name], &dns.TXT{Hdr: header, Txt: []string{value}})
	}
}

// nothing sets the record that comes with answers about a name.
func (n *nameServer) nothing(t *testing.T, name, line string) {
	t.Helper()
	one, err := dns.NewRR(line)
	if err != nil {
		t.Fatal(err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.records["without "+name] = []dns.RR{one}
}

// delay withholds the TXT records of a name until it was asked for twice.
func (n *nameServer) delay(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.late["TXT "+name] = n.records["TXT "+name]
	delete(n.records, "TXT "+name)
}

func (n *nameServer) fail(name string, rcode int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rcodes[name] = rcode
}

// questions returns how often something was asked, by its transport, type and name.
func (n *nameServer) questions(what string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.asked[what]
}

// updates sets what takes signed updates, unless it is nil, and returns it.
func (n *nameServer) updates(set func(*dns.Msg) int) func(*dns.Msg) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if set != nil {
		n.update = set
	}
	return n.update
}

// ServeDNS answers one question, or an update.
func (n *nameServer) ServeDNS(w dns.ResponseWriter, asked *dns.Msg) {
	answer := new(dns.Msg).SetReply(asked)
	if asked.Opcode == dns.OpcodeUpdate {
		answer.Rcode = dns.RcodeRefused
		if update := n.updates(nil); update != nil && asked.IsTsig() != nil && w.TsigStatus() == nil {
			answer.Rcode = update(asked)
		}
		if signed := asked.IsTsig(); signed != nil {
			answer.SetTsig(signed.Hdr.Name, signed.Algorithm, 300, time.Now().Unix())
		}
		_ = w.WriteMsg(answer)
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	name, kind := strings.ToLower(asked.Question[0].Name), dns.TypeToString[asked.Question[0].Qtype]
	n.asked[w.LocalAddr().Network()+" "+kind+" "+name]++
	answer.Rcode = n.rcodes[name]
	answer.Ns = n.records["without "+name]
	answer.Answer = slices.Concat(n.records["CNAME "+name], n.records[kind+" "+name])
	if kind == "CNAME" {
		answer.Answer = n.records["CNAME "+name]
	}
	if n.asked["udp "+kind+" "+name] == 2 && n.late[kind+" "+name] != nil {
		n.records[kind+" "+name] = n.late[kind+" "+name]
	}
	if w.LocalAddr().Network() == "udp" {
		answer.Truncate(dns.MinMsgSize)
	}
	_ = w.WriteMsg(answer)
}

// zone has a resolver and the authoritative servers of shop.test.
type zone struct {
	resolver    *nameServer
	authorities []*nameServer
	port        string
}

func newZone(t *testing.T, authorities int) zone {
	t.Helper()
	all, port := servers(t, authorities+1)
	z := zone{resolver: all[0], authorities: all[1:], port: port}
	z.resolver.add(t, "shop.test. 1 SOA ns1.shop.test. root.shop.test. 1 1 1 1 1")
	for i := range z.authorities {
		host := "ns" + strconv.Itoa(i+1) + ".shop.test."
		z.resolver.add(t, "shop.test. 1 NS "+host, host+" 1 A 127.0.0."+strconv.Itoa(i+2))
	}
	return z
}

// solver makes a solver that asks the zone's resolver.
func (z zone) solver(t *testing.T, p dns01.Provider, options dns01.Options) *dns01.Solver {
	t.Helper()
	if options.Challenge.Resolvers == nil {
		options.Challenge.Resolvers = []string{z.resolver.address}
	}
	s, err := dns01.New(p, options)
	if err != nil {
		t.Fatal(err)
	}
	s.SetPort(z.port, 20*time.Second)
	return s
}

// provider is a DNS provider that calls functions.
type provider struct {
	present, cleanUp  func(name, value string) error
	timeout, interval time.Duration
}

func (p *provider) Present(_ context.Context, domain, _, keyAuth string) error {
	return call(p.present, domain, keyAuth)
}

func (p *provider) CleanUp(ctx context.Context, domain, _, keyAuth string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return call(p.cleanUp, domain, keyAuth)
}

// Timeout returns the limits of the propagation check.
func (p *provider) Timeout() (timeout, interval time.Duration) { return p.timeout, p.interval }

func call(function func(name, value string) error, domain, keyAuth string) error {
	if function == nil {
		return nil
	}
	c := challenge(domain, keyAuth)
	return function(c.DNS01TXTRecordName()+".", c.DNS01KeyAuthorization())
}

// quick is a provider with short limits, which writes nothing.
func quick(timeout time.Duration) *provider {
	return &provider{timeout: timeout, interval: 10 * time.Millisecond}
}

func challenge(domain, keyAuth string) acme.Challenge {
	return acme.Challenge{
		Type: "dns-01", Token: "token", KeyAuthorization: keyAuth,
		Identifier: acme.Identifier{Type: "dns", Value: domain},
	}
}

// recursiveOnly asks all resolvers and no authoritative server.
func recursiveOnly(resolvers ...string) static.DNSChallenge {
	return static.DNSChallenge{
		Resolvers:   resolvers,
		Propagation: &static.Propagation{DisableANSChecks: true, RequireAllRNS: true},
	}
}
