package certificate_test

import (
	"crypto/tls"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// resumes reports whether a client that was accepted by first resumes its session with second.
func resumes(t *testing.T, first, second *certificate.Options, serverName string, version uint16) bool {
	t.Helper()
	client := blind("a.example.com")
	client.MaxVersion = version
	client.ClientSessionCache = anyName{tls.NewLRUClientSessionCache(1)}
	if state, err := shake(t, first.Config(), client); err != nil || state.DidResume {
		t.Fatalf("first handshake: resumed %v, error %v", state.DidResume, err)
	}
	client.ServerName = serverName
	state, err := shake(t, second.Config(), client)
	return err == nil && state.DidResume
}

// anyName is a cache that offers a session to every server name.
type anyName struct{ tls.ClientSessionCache }

func (c anyName) Get(string) (*tls.ClientSessionState, bool) { return c.ClientSessionCache.Get("") }
func (c anyName) Put(_ string, session *tls.ClientSessionState) {
	c.ClientSessionCache.Put("", session)
}

func TestTicketsAcrossReloads(t *testing.T) {
	certificates := newSet(t, "a.example.com", "b.example.com")
	tickets := certificate.NewTickets()
	authority := newAuthority(t, "authority")
	plain := &dynamic.TLSOptions{}
	requesting := &dynamic.TLSOptions{ClientAuth: dynamic.ClientAuth{
		ClientAuthType: "VerifyClientCertIfGiven", CAFiles: []string{string(authority.cert)},
	}}
	strict := &dynamic.TLSOptions{SNIStrict: true}
	for _, test := range []struct {
		name          string
		first, second *certificate.Options
		serverName    string
		want          bool
	}{
		{"equal options after a reload", newOptions(t, plain, certificates, tickets), newOptions(t, plain, certificates,
			tickets), "a.example.com", true},
		{
			"options that request certificates", newOptions(t, plain, certificates, tickets),
			newOptions(t, requesting, certificates, tickets), "a.example.com", false,
		},
		{
			"tickets switched off", newOptions(t, plain, certificates, tickets),
			newOptions(t, &dynamic.TLSOptions{DisableSessionTickets: true}, certificates, tickets), "a.example.com", false,
		},
		{
			"another process", newOptions(t, plain, certificates, tickets),
			newOptions(t, plain, certificates, certificate.NewTickets()), "a.example.com", false,
		},
		{"sniStrict and a name of the set", newOptions(t, strict, certificates, tickets), newOptions(t, strict, certificates,
			tickets), "b.example.com", true},
		{"sniStrict and another name", newOptions(t, strict, certificates, tickets), newOptions(t, strict, certificates,
			tickets), "c.example.com", false},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(test.name+" "+tls.VersionName(version), func(t *testing.T) {
				if got := resumes(t, test.first, test.second, test.serverName, version); got != test.want {
					t.Errorf("resumed: %v", got)
				}
			})
		}
	}
}

func TestTicketsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tickets := certificate.NewTickets()
		keys := func() [][32]byte { return certificate.TicketKeys(tickets, 1) }
		first := keys()
		if len(first) != 1 {
			t.Fatalf("%d keys at the start", len(first))
		}
		pass(certificate.TicketRotation - time.Second)
		if !slices.Equal(keys(), first) {
			t.Error("the key changed too early")
		}
		for i, known := range []bool{true, true, false} {
			pass(certificate.TicketRotation)
			now := keys()
			if now[0] == first[0] {
				t.Errorf("rotation %d: the key for new tickets did not change", i+1)
			}
			if slices.Contains(now, first[0]) != known {
				t.Errorf("rotation %d: the first key is known: %v", i+1, !known)
			}
		}
		last := keys()[0]
		pass(10 * certificate.TicketRotation)
		if now := keys(); len(now) != 1 || now[0] == last {
			t.Error("an old key outlived a quiet week")
		}
		if certificate.TicketKeys(tickets, 2)[0] == keys()[0] {
			t.Error("two fingerprints share a key")
		}
	})
}

func TestConfigTakesNewKeys(t *testing.T) {
	certificates := newSet(t, "a.example.com")
	tickets := certificate.NewTickets()
	options := newOptions(t, nil, certificates, tickets)
	options.Config()
	before := certificate.TicketGeneration(options)
	certificate.Rotate(tickets)
	options.Config()
	if certificate.TicketGeneration(options) == before {
		t.Error("a rotation did not reach the configuration")
	}
	if !resumes(t, options, options, "a.example.com", tls.VersionTLS13) {
		t.Error("no session is resumed after a rotation")
	}
}
