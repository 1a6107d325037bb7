package metrics

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

func certificates() []*x509.Certificate {
	return []*x509.Certificate{
		{
			Subject: pkix.Name{CommonName: "shop.example"}, SerialNumber: big.NewInt(4711),
			DNSNames: []string{"www.shop.example", "shop.example"}, NotAfter: time.Unix(1_900_000_000, 0),
		},
		nil,
		{
			Subject: pkix.Name{CommonName: "shop.example"}, SerialNumber: big.NewInt(4711),
			DNSNames: []string{"shop.example", "www.shop.example"}, NotAfter: time.Unix(1_900_000_000, 0),
		},
		{SerialNumber: nil},
	}
}

func TestCertificatesAreShownWithTheirEnd(t *testing.T) {
	metrics := New(Options{})
	all := certificates()
	metrics.Register(Certificates(slices.Values(all)))
	demand(t, scrape(t, metrics),
		`traefik_tls_certs_not_after{cn="shop.example",sans="shop.example,www.shop.example",serial="4711"} 1.9e+09`)
	if all[0].DNSNames[0] != "www.shop.example" {
		t.Error("a certificate was changed")
	}
}

func TestServersAreUpOrDown(t *testing.T) {
	metrics := New(Options{})
	metrics.Register(Servers(slices.Values([]ServerStatus{
		{Service: "a@file", URL: "http://10.0.0.1:80", Up: true},
		{Service: "a@file", URL: "http://10.0.0.2:80"},
		{Service: "a@file", URL: "http://10.0.0.1:80"},
		{Service: "b@file", URL: "https://user:pass@word@10.0.0.3/path@x", Up: true},
		{Service: "c@file", URL: "http://10.0.0.5/path?token=hunter2#hunter2", Up: true},
		{Service: "d@file", URL: "http://user:12/hunter2@10.0.0.6", Up: true},
		{Service: "b@file", URL: "10.0.0.4:80", Up: true},
	})))
	page := scrape(t, metrics)
	demand(t, page,
		`traefik_service_server_up{service="a@file",url="http://10.0.0.1:80"} 1`,
		`traefik_service_server_up{service="a@file",url="http://10.0.0.2:80"} 0`,
		`traefik_service_server_up{service="b@file",url="https://10.0.0.3/path@x"} 1`,
		`traefik_service_server_up{service="b@file",url="10.0.0.4:80"} 1`,
		`traefik_service_server_up{service="c@file",url="http://10.0.0.5/path?xxxx#xxxx"} 1`,
		`traefik_service_server_up{service="d@file",url="xxxx"} 1`)
	if strings.Contains(page, "pass") {
		t.Error("a password is shown")
	}
}

func TestWhatIsDroppedIsCountedBySignal(t *testing.T) {
	metrics := New(Options{})
	metrics.Register(Dropped("access_log", func() uint64 { return 3 }))
	metrics.Register(Dropped("traces", func() uint64 { return 5 }))
	demand(t, scrape(t, metrics), `sluice_telemetry_dropped_total{signal="access_log"} 3`,
		`sluice_telemetry_dropped_total{signal="traces"} 5`)
}

func TestRetriesHaveTraefiksNameToo(t *testing.T) {
	metrics := New(Options{})
	metrics.Register(Balance(slices.Values([]BalanceCounts{
		{Protocol: "http", Service: "a@file", Counts: map[string]uint64{"retries": 2}},
		{Protocol: "tcp", Service: "a@file", Counts: map[string]uint64{"retries": 5, "ejections": 1}},
	})))
	demand(t, scrape(t, metrics), `traefik_service_retries_total{service="a@file"} 2`,
		`sluice_service_retries_total{protocol="http",service="a@file"} 2`,
		`sluice_service_retries_total{protocol="tcp",service="a@file"} 5`,
		`sluice_service_ejections_total{protocol="tcp",service="a@file"} 1`)
}

func TestProvidersHaveTheirLag(t *testing.T) {
	metrics := New(Options{})
	metrics.Reloaded(Reload{CompileSeconds: 0.25, Lags: map[string]time.Duration{
		"file":   20 * time.Millisecond,
		"docker": 2 * time.Second,
	}})
	demand(t, scrape(t, metrics),
		`sluice_provider_lag_seconds_bucket{provider="file",le="0.025"} 1`,
		`sluice_provider_lag_seconds_bucket{provider="file",le="0.01"} 0`,
		`sluice_provider_lag_seconds_sum{provider="docker"} 2`, `sluice_config_compile_duration_seconds_sum 0.25`,
		`sluice_config_compile_seconds 0.25`)
}

func TestPoolsAreCountedByState(t *testing.T) {
	metrics := New(Options{})
	metrics.Register(Pools(slices.Values([]PoolStatus{
		{Protocol: "http", Service: "a@file", Endpoints: map[string]int{"ready": 3, "ejected": 1}, InFlight: 7},
		{Protocol: "http", Service: "b@file", Endpoints: map[string]int{"ready": 0}},
	}))...)
	demand(t, scrape(t, metrics),
		`sluice_service_endpoints{protocol="http",service="a@file",state="ready"} 3`,
		`sluice_service_endpoints{protocol="http",service="a@file",state="ejected"} 1`,
		`sluice_service_endpoints{protocol="http",service="b@file",state="ready"} 0`, `sluice_service_in_flight{service="a@file"} 7`,
		`sluice_service_in_flight{service="b@file"} 0`)
}

func TestMirrorsAreCounted(t *testing.T) {
	metrics := New(Options{EntryPoints: true})
	metrics.Register(Mirrors(map[string]func() uint64{
		"sent": func() uint64 { return 7 }, "dropped": func() uint64 { return 2 },
	})...)
	demand(t, scrape(t, metrics), `sluice_mirror_requests_total{result="sent"} 7`,
		`sluice_mirror_requests_total{result="dropped"} 2`)
}
