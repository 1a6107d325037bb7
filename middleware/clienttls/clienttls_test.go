package clienttls

import (
	"crypto/tls"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document/clienttls"
	"github.com/sluiceproxy/sluice/dynamic"
)

func TestOptionsArePassedOn(t *testing.T) {
	optional := true
	config := dynamic.ClientTLS{CA: "a", CAOptional: &optional, Cert: "c", Key: "k", InsecureSkipVerify: true}
	if diff := cmp.Diff(&clienttls.Options{CA: "a", Cert: "c", Key: "k", InsecureSkipVerify: true}, optionsOf(&config)); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

// Without the option a client speaks no TLS, and with an empty one it believes the authorities of the system.
func TestNoneAndEmpty(t *testing.T) {
	if config, err := New("x.tls", nil, nil); config != nil || err != nil {
		t.Errorf("none: %v, %v", config, err)
	}
	config, err := New("x.tls", &dynamic.ClientTLS{}, nil)
	if err != nil || config == nil || config.RootCAs != nil || config.InsecureSkipVerify || config.MinVersion != tls.VersionTLS12 {
		t.Errorf("empty: %+v, %v", config, err)
	}
}
