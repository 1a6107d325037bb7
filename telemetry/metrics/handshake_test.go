package metrics_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// handshakeSeries returns the series of handshakes, sorted.
func handshakeSeries(t *testing.T, all *metrics.Metrics) []string {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	all.Handler().ServeHTTP(recorder, request)
	var series []string
	for line := range strings.Lines(recorder.Body.String()) {
		if strings.HasPrefix(line, "sluice_tls_handshake") {
			series = append(series, strings.TrimSpace(line))
		}
	}
	slices.Sort(series)
	return series
}

func done(curve, resumed, version string) string {
	return fmt.Sprintf(`sluice_tls_handshakes_total{curve=%q,entrypoint="web",resumed=%q,version=%q} 1`, curve, resumed, version)
}

// Labels have a bounded number of values, whatever a client negotiates.
func TestHandshakesAreCountedByBoundedLabels(t *testing.T) {
	all := metrics.New(metrics.Options{})
	web := all.Entrypoint("web")
	var want []string
	for curve, name := range map[tls.CurveID]string{
		0: "none", tls.CurveP256: "CurveP256", tls.CurveP384: "CurveP384", tls.CurveP521: "CurveP521",
		tls.X25519MLKEM768: "X25519MLKEM768", tls.SecP256r1MLKEM768: "SecP256r1MLKEM768",
		tls.SecP384r1MLKEM1024: "SecP384r1MLKEM1024", 77: "other",
	} {
		web.HandshakeDone(&tls.ConnectionState{Version: tls.VersionTLS13, CurveID: curve})
		want = append(want, done(name, "false", "1.3"))
	}
	for version, name := range map[uint16]string{
		tls.VersionTLS10: "1.0", tls.VersionTLS11: "1.1", tls.VersionTLS12: "1.2", tls.VersionTLS13: "1.3", 7: "unknown",
	} {
		web.HandshakeDone(&tls.ConnectionState{Version: version, CurveID: tls.X25519, DidResume: true})
		want = append(want, done("X25519", "true", name))
	}
	for reason, err := range map[string]error{
		"other": errors.New("whatever"), "closed": fmt.Errorf("read: %w", io.EOF),
		"timeout":            &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded},
		"client_alert":       &net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")},
		"no_certificate":     errors.New("tls: no certificates configured"),
		"client_certificate": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
		"protocol":           errors.New("tls: handshake failure"),
	} {
		web.HandshakeFailed(err)
		want = append(want, fmt.Sprintf(`sluice_tls_handshake_errors_total{entrypoint="web",reason=%q} 1`, reason))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, handshakeSeries(t, all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCountingAHandshakeAllocatesNothing(t *testing.T) {
	web := metrics.New(metrics.Options{}).Entrypoint("web")
	state := &tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.X25519MLKEM768}
	if allocations := testing.AllocsPerRun(100, func() { web.HandshakeDone(state) }); allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
