package certificate_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
)

func TestConnectionTravelsInTheContext(t *testing.T) {
	if got := certificate.ConnectionFrom(t.Context()); got != nil {
		t.Errorf("a plain connection has the memory %v", got)
	}
	connection := &certificate.Connection{Fingerprint: 7, ServerName: "a.example.com"}
	if got := certificate.ConnectionFrom(certificate.WithConnection(t.Context(), connection)); got != connection {
		t.Errorf("got %v", got)
	}
}
