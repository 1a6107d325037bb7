package xds

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

const (
	// clusterDomain is the end of the names of Services.
	clusterDomain = ".svc.cluster.local"
	// timeToLive is that of the records, as in CoreDNS.
	timeToLive = 5 * time.Second
)

// nameServer answers for headless Services with the addresses of their ready endpoints, and answers the same for the
// time to live, as the DNS of a cluster does.
type nameServer struct {
	address string
	c       *cluster.Cluster
	t       testing.TB

	mu    sync.Mutex
	known map[string]record
}

type record struct {
	addresses []string
	until     time.Time
}

// serveNames starts the server, which ends with the test.
func serveNames(t testing.TB, c *cluster.Cluster) *nameServer {
	t.Helper()
	socket, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &nameServer{address: socket.LocalAddr().String(), c: c, t: t, known: map[string]record{}}
	started := make(chan struct{})
	server := &dns.Server{PacketConn: socket, Handler: n, NotifyStartedFunc: func() { close(started) }}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.ActivateAndServe() })
	<-started
	t.Cleanup(func() { _ = server.Shutdown(); serving.Wait() })
	return n
}

// ServeDNS answers a question.
func (n *nameServer) ServeDNS(w dns.ResponseWriter, question *dns.Msg) {
	answer := new(dns.Msg).SetReply(question)
	answer.Authoritative = true
	if name := question.Question[0].Name; question.Question[0].Qtype == dns.TypeA {
		found := n.find(name)
		for _, address := range found.addresses {
			answer.Answer = append(answer.Answer, &dns.A{
				Hdr: dns.RR_Header{
					Name: name, Rrtype: dns.TypeA, Class: dns.ClassINET,
					Ttl: uint32(max(0, time.Until(found.until).Seconds())),
				},
				A: net.ParseIP(address),
			})
		}
	}
	_ = w.WriteMsg(answer)
}

// find returns the addresses of a name.
func (n *nameServer) find(name string) record {
	n.mu.Lock()
	defer n.mu.Unlock()
	if known := n.known[name]; time.Now().Before(known.until) {
		return known
	}
	found := record{until: time.Now().Add(timeToLive)}
	service, namespace, _ := strings.Cut(strings.TrimSuffix(name, clusterDomain+"."), ".")
	list, err := n.c.Kubernetes.DiscoveryV1().EndpointSlices(namespace).List(n.t.Context(), metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service,
	})
	if err != nil {
		return found // The test is over.
	}
	for _, slice := range list.Items {
		for _, endpoint := range slice.Endpoints {
			if slice.AddressType == discoveryv1.AddressTypeIPv4 &&
				(endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready) {
				found.addresses = append(found.addresses, endpoint.Addresses...)
			}
		}
	}
	n.known[name] = found
	return found
}
