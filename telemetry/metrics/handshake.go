package metrics

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// tlsVersions counts the values of the label version: 1.0 to 1.3, and unknown.
	tlsVersions = 5
	// keyExchanges counts the values of the label curve.
	keyExchanges = 9
	// failureReasons counts the values of the label reason.
	failureReasons = 7
)

// handshakes counts the TLS handshakes of an entrypoint.
type handshakes struct {
	done   [tlsVersions][keyExchanges][2]atomic.Uint64
	failed [failureReasons]atomic.Uint64
}

// HandshakeDone counts a TLS handshake that has succeeded. It takes no lock and allocates nothing.
func (e *Entrypoint) HandshakeDone(state *tls.ConnectionState) {
	resumed := 0
	if state.DidResume {
		resumed = 1
	}
	e.handshakes.done[tlsVersionIndex(state.Version)][curveIndex(state.CurveID)][resumed].Add(1)
}

// HandshakeFailed counts a TLS handshake by the error that crypto/tls has returned. Handshakes that were cut off by
// the end of the process are errors like others.
func (e *Entrypoint) HandshakeFailed(err error) { e.handshakes.failed[failureIndex(err)].Add(1) }

func tlsVersionIndex(version uint16) int {
	if version < tls.VersionTLS10 || version > tls.VersionTLS13 {
		return tlsVersions - 1
	}
	return int(version - tls.VersionTLS10)
}

func tlsVersionName(index int) string { return TLSVersionName(tls.VersionTLS10 + uint16(index)) }

func curveIndex(curve tls.CurveID) int {
	switch curve {
	case 0: // Key exchange by RSA encryption.
		return 0
	case tls.CurveP256:
		return 1
	case tls.CurveP384:
		return 2
	case tls.CurveP521:
		return 3
	case tls.X25519:
		return 4
	case tls.X25519MLKEM768:
		return 5
	case tls.SecP256r1MLKEM768:
		return 6
	case tls.SecP384r1MLKEM1024:
		return 7
	}
	return 8
}

func curveName(index int) string {
	return [keyExchanges]string{
		"none", "CurveP256", "CurveP384", "CurveP521", "X25519", "X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024",
		"other",
	}[index]
}

func failureName(index int) string {
	return [failureReasons]string{
		"other", "client_alert", "closed", "timeout", "no_certificate", "client_certificate", "protocol",
	}[index]
}

func failureIndex(err error) int {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch text := err.Error(); {
	case errors.As(err, &network) && network.Op == "remote error": // How crypto/tls reports an alert.
		return 1
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return 2
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 3
	case strings.HasPrefix(text, "tls: no certificates configured"):
		return 4
	case errors.As(err, &certificate), strings.HasPrefix(text, "tls: client didn't provide a certificate"),
		strings.HasPrefix(text, "tls: failed to parse client certificate"):
		return 5
	case strings.HasPrefix(text, "tls: "), network != nil && network.Op == "local error": // An alert of this side.
		return 6
	}
	return 0
}

// handshakeCollector exposes the handshakes of all entrypoints. Combinations that have not occurred are left out.
type handshakeCollector struct {
	set          *SeriesSet
	done, failed *prometheus.Desc
}

func newHandshakeCollector(set *SeriesSet) *handshakeCollector {
	return &handshakeCollector{
		set: set,
		done: prometheus.NewDesc("sluice_tls_handshakes_total",
			"TLS handshakes that succeeded, by version, key exchange, and whether a session was resumed.",
			[]string{"entrypoint", "version", "curve", "resumed"}, nil),
		failed: prometheus.NewDesc("sluice_tls_handshake_errors_total", "TLS handshakes that failed, by reason.",
			[]string{"entrypoint", "reason"}, nil),
	}
}

// Describe sends the descriptions of both families.
func (c *handshakeCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.done
	to <- c.failed
}

// Collect sends the counters as they are now.
func (c *handshakeCollector) Collect(to chan<- prometheus.Metric) {
	for _, s := range c.set.list(TrafficEntrypoints, nil) {
		counted := &c.set.ofSeries(s).handshakes
		send := func(desc *prometheus.Desc, count uint64, labels ...string) {
			if count > 0 {
				to <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(count),
					append([]string{text(s.name)}, labels...)...)
			}
		}
		for version := range counted.done {
			for curve := range counted.done[version] {
				send(c.done, counted.done[version][curve][0].Load(), tlsVersionName(version), curveName(curve), "false")
				send(c.done, counted.done[version][curve][1].Load(), tlsVersionName(version), curveName(curve), "true")
			}
		}
		for reason := range counted.failed {
			send(c.failed, counted.failed[reason].Load(), failureName(reason))
		}
	}
}
