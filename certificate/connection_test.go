package certificate

import "testing"

func TestConnectionTravelsInTheContext(t *testing.T) {
	if got := ConnectionFrom(t.Context()); got != nil {
		t.Errorf("a plain connection has the memory %v", got)
	}
	connection := &Connection{Fingerprint: 7, ServerName: "a.example.com"}
	if got := ConnectionFrom(WithConnection(t.Context(), connection)); got != connection {
		t.Errorf("got %v", got)
	}
}
