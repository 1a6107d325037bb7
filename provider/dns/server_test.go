package dns

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// zone is a real server on loopback, by UDP and TCP, whose answers a test changes.
type zone struct {
	address string

	mu sync.Mutex
	// records maps "NAME TYPE" to the lines of the answer; a line that begins with ! is a code of failure, and "drop" is
	// no answer at all.
	records map[string][]string
	// pairs are the records of which a name has been answered with those of one type: the other one gets those as well,
	// since both are asked for at a time.
	pairs map[string]pair
	// rude makes the server refuse EDNS0; cut makes it cut answers by UDP.
	rude, cut bool
	asked     []string
}

func serve(t *testing.T) *zone {
	t.Helper()
	z := &zone{records: map[string][]string{}, pairs: map[string]pair{}}
	packets, listener := listenTwice(t)
	z.address = packets.LocalAddr().String()
	for _, server := range []*mdns.Server{
		{PacketConn: packets, Handler: z.handler(false)}, {Listener: listener, Handler: z.handler(true)},
	} {
		started, done := make(chan struct{}), make(chan struct{})
		server.NotifyStartedFunc = func() { close(started) }
		go func() {
			defer close(done)
			if err := server.ActivateAndServe(); err != nil {
				t.Errorf("server: %v", err)
			}
		}()
		<-started
		t.Cleanup(func() {
			_ = server.ShutdownContext(context.Background())
			<-done
		})
	}
	return z
}

// listenTwice listens on one port by UDP and TCP; a port that is free for the one may be taken for the other.
func listenTwice(t *testing.T) (net.PacketConn, net.Listener) {
	t.Helper()
	var last error
	for range 100 {
		packets, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", packets.LocalAddr().String())
		if err == nil {
			return packets, listener
		}
		last = err
		_ = packets.Close()
	}
	t.Fatal(last)
	return nil, nil
}

func (z *zone) handler(tcp bool) mdns.Handler {
	return mdns.HandlerFunc(func(w mdns.ResponseWriter, question *mdns.Msg) {
		if answer := z.answer(question, tcp); answer != nil {
			_ = w.WriteMsg(answer)
		}
	})
}

func (z *zone) answer(question *mdns.Msg, tcp bool) *mdns.Msg {
	z.mu.Lock()
	defer z.mu.Unlock()
	network := "udp"
	if tcp {
		network = "tcp"
	}
	key := question.Question[0].Name + " " + mdns.TypeToString[question.Question[0].Qtype]
	z.asked = append(z.asked, network+" "+key)
	answer := new(mdns.Msg).SetReply(question)
	if z.rude && question.IsEdns0() != nil {
		return answer.SetRcode(question, mdns.RcodeFormatError)
	}
	if z.cut && !tcp {
		answer.Truncated = true
		return answer
	}
	lines, ok := z.current(question.Question[0])[key]
	if !ok {
		answer.Rcode = mdns.RcodeNameError
	}
	for _, line := range lines {
		if line == "drop" {
			return nil
		}
		if code, failed := strings.CutPrefix(line, "!"); failed {
			answer.Rcode = mdns.StringToRcode[code]
			continue
		}
		record, err := mdns.NewRR(line)
		if err != nil {
			panic(err)
		}
		if _, soa := record.(*mdns.SOA); soa {
			answer.Ns = append(answer.Ns, record)
			continue
		}
		answer.Answer = append(answer.Answer, record)
	}
	return answer
}

// pair are the records for both questions about a name, of which the one for a type has come.
type pair struct {
	kind    uint16
	records map[string][]string
}

// current returns the records for a question.
func (z *zone) current(question mdns.Question) map[string][]string {
	if half, begun := z.pairs[question.Name]; begun && half.kind != question.Qtype {
		delete(z.pairs, question.Name)
		return half.records
	}
	z.pairs[question.Name] = pair{kind: question.Qtype, records: z.records}
	return z.records
}

// set changes what the server answers: pairs of "NAME TYPE" and lines.
func (z *zone) set(records map[string][]string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.records = records
}

func (z *zone) count(question string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	n := 0
	for _, one := range z.asked {
		if one == question {
			n++
		}
	}
	return n
}

// files writes a resolv.conf and a hosts file and returns options that use them.
func (z *zone) files(t *testing.T, resolvConf, hosts string) Options {
	t.Helper()
	dir := t.TempDir()
	options := Options{
		Resolvers:  []string{z.address},
		ResolvConf: filepath.Join(dir, "resolv.conf"),
		Hosts:      filepath.Join(dir, "hosts"),
	}
	write(t, options.ResolvConf, resolvConf)
	write(t, options.Hosts, hosts)
	return options
}

// write writes a file, which is never seen empty.
func write(t *testing.T, path, text string) {
	t.Helper()
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(draft, path); err != nil {
		t.Fatal(err)
	}
}

// provide runs a provider until the test ends and gives its messages.
func provide(t *testing.T, options Options, keys ...string) (*Provider, <-chan dynamic.Message) {
	t.Helper()
	p := New("dns", options, telemetry.Discard{})
	p.filesInterval = 20 * time.Millisecond
	p.Watch(keys)
	messages := make(chan dynamic.Message)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Provide(ctx, messages) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Provide: %v", err)
		}
	})
	return p, messages
}

// next returns the next message with endpoint sets, as text.
func next(t *testing.T, messages <-chan dynamic.Message) []string {
	t.Helper()
	for {
		select {
		case message := <-messages:
			if len(message.Endpoints) > 0 {
				return text(message.Endpoints)
			}
		case <-t.Context().Done():
			t.Fatal("no message")
		}
	}
}

func text(sets []dynamic.EndpointSet) []string {
	result := []string{}
	for _, one := range sets {
		line := one.Key + " ="
		if one.Deleted {
			line = one.Key + " deleted"
		}
		for _, endpoint := range one.Endpoints {
			line += " " + endpoint.Address.String()
		}
		result = append(result, line)
	}
	return result
}

func addresses(found families) []string {
	result := []string{}
	for f := range found {
		for _, address := range found[f].addresses {
			result = append(result, address.String())
		}
	}
	return result
}

func mustAddresses(texts ...string) []netip.Addr {
	var result []netip.Addr
	for _, one := range texts {
		result = append(result, netip.MustParseAddr(one))
	}
	return result
}
