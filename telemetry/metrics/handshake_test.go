package metrics

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
)

func TestHandshakesAreCountedByBoundedLabels(t *testing.T) {
	metrics := New(Options{})
	web := metrics.Entrypoint("web")
	for curve, name := range map[tls.CurveID]string{
		0: "none", tls.CurveP256: "CurveP256", tls.CurveP384: "CurveP384", tls.CurveP521: "CurveP521", tls.X25519: "X25519",
		tls.X25519MLKEM768: "X25519MLKEM768", tls.SecP256r1MLKEM768: "SecP256r1MLKEM768",
		tls.SecP384r1MLKEM1024: "SecP384r1MLKEM1024", 77: "other",
	} {
		if got := curveName(curveIndex(curve)); got != name {
			t.Errorf("curve %d is counted as %s, want %s", curve, got, name)
		}
	}
	for _, version := range []uint16{tls.VersionTLS10, tls.VersionTLS11, tls.VersionTLS12, tls.VersionTLS13, 7} {
		web.HandshakeDone(&tls.ConnectionState{Version: version, CurveID: tls.X25519, DidResume: version == 7})
	}
	web.HandshakeDone(&tls.ConnectionState{Version: tls.VersionTLS13, CurveID: 77})
	for _, err := range []error{
		errors.New("whatever"), fmt.Errorf("read: %w", io.EOF), &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")},
		errors.New("tls: no certificates configured"),
		&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, errors.New("tls: handshake failure"),
	} {
		web.HandshakeFailed(err)
	}
	want := []string{`sluice_tls_handshakes_total{curve="X25519",entrypoint="web",resumed="true",version="unknown"} 1`}
	for _, version := range []string{"1.0", "1.1", "1.2", "1.3"} {
		want = append(want,
			`sluice_tls_handshakes_total{curve="X25519",entrypoint="web",resumed="false",version="`+version+`"} 1`)
	}
	want = append(want, `sluice_tls_handshakes_total{curve="other",entrypoint="web",resumed="false",version="1.3"} 1`)
	for i := range failureReasons {
		want = append(want, `sluice_tls_handshake_errors_total{entrypoint="web",reason="`+failureName(i)+`"} 1`)
	}
	demand(t, scrape(t, metrics), want...)
}

func TestCountingAHandshakeAllocatesNothing(t *testing.T) {
	web := New(Options{}).Entrypoint("web")
	state := &tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.X25519MLKEM768}
	if allocations := testing.AllocsPerRun(100, func() { web.HandshakeDone(state) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
