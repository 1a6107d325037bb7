package certificate_test

import (
	"bytes"
	"crypto/tls"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
)

// TestTicketsOfPredecessor resumes sessions with the secrets of another process.
func TestTicketsOfPredecessor(t *testing.T) {
	certificates := newSet(t, "a.example.com")
	before, after := certificate.NewTickets(), certificate.NewTickets()
	plain := &dynamic.TLSOptions{}
	first, second := newOptions(t, plain, certificates, before), newOptions(t, plain, certificates, after)
	if resumes(t, first, second, "a.example.com", tls.VersionTLS13) {
		t.Error("a session is resumed without its secret")
	}
	if err := after.Import(before.Export()); err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if !resumes(t, first, second, "a.example.com", version) || !resumes(t, second, first, "a.example.com", version) {
			t.Errorf("%s: the session is not resumed", tls.VersionName(version))
		}
	}
}

// TestImportedTicketsRotate keeps the times of imported secrets.
func TestImportedTicketsRotate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before, after := certificate.NewTickets(), certificate.NewTickets()
		keys := func(tickets *certificate.Tickets) [][32]byte { return certificate.TicketKeys(tickets, 1) }
		pass(certificate.TicketRotation)
		keys(before)
		pass(certificate.TicketRotation / 2)
		if err := after.Import(before.Export()); err != nil {
			t.Fatal(err)
		}
		imported := keys(after)
		if !slices.Equal(imported, keys(before)) || len(imported) != 2 {
			t.Errorf("%d keys, want those of the other process", len(imported))
		}
		pass(certificate.TicketRotation / 2)
		if now := keys(after); now[0] == imported[0] || len(now) != 3 {
			t.Errorf("%d keys after the next rotation", len(now))
		}
		old := before.Export()
		pass(3 * certificate.TicketRotation)
		fresh := keys(after)
		if err := after.Import(old); err != nil || !slices.Equal(keys(after), fresh) {
			t.Errorf("expired secrets: %v", err)
		}
	})
}

// TestImportRefuses changes nothing for damaged data, which no error shows.
func TestImportRefuses(t *testing.T) {
	tickets := certificate.NewTickets()
	before := certificate.TicketKeys(tickets, 1)
	data := tickets.Export()
	future := bytes.Replace(data, []byte(time.Now().Format("2006")), []byte("2999"), -1)
	for _, damaged := range [][]byte{
		nil, []byte("secret"), []byte(`[{"secret":"c2VjcmV0"}]`), bytes.Replace(data, []byte(`"expires"`), []byte(`"e"`), 1),
		future,
	} {
		err := tickets.Import(damaged)
		if err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%s: %v", damaged, err)
		}
	}
	if err := tickets.Import([]byte("[]")); err != nil || !slices.Equal(certificate.TicketKeys(tickets, 1), before) {
		t.Errorf("the keys have changed, error %v", err)
	}
}
