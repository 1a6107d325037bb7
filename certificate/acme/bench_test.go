package acme_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"runtime"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// many is how many certificates the benchmarks have.
const many = 10_000

// filled returns a storage with many certificates of one intermediate, for one name each.
func filled(b *testing.B) *storagetest.Memory {
	b.Helper()
	memory := storagetest.NewMemory()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(90 * 24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		b.Fatal(err)
	}
	intermediate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for i := range many {
		name := fmt.Sprintf("host%05d.example.com", i)
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			b.Fatal(err)
		}
		leaf := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i) + 2), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour),
			NotAfter: time.Now().Add(90 * 24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		}
		if der, err = x509.CreateCertificate(rand.Reader, leaf, authority, own.Public(), key); err != nil {
			b.Fatal(err)
		}
		secret, err := x509.MarshalECPrivateKey(own)
		if err != nil {
			b.Fatal(err)
		}
		value, _ := json.Marshal(storage.Certificate{
			Main:  name,
			Chain: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})) + string(intermediate),
			Key:   string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})),
		})
		id := storage.CertificateID([]string{name})
		at := storage.Key{Kind: storage.KindCertificate, Resolver: "le", ID: id}
		if err := memory.Put(b.Context(), at, value); err != nil {
			b.Fatal(err)
		}
	}
	return memory
}

// started is what is in memory of the certificates of a resolver: its state, the configuration and the set of
// handshakes.
type started struct {
	resolvers *acme.Resolvers
	message   dynamic.Message
	set       *certificate.Set
	stop      func()
}

// begin starts resolvers with a storage, until handshakes have all certificates.
func begin(b *testing.B, memory storage.Store) started {
	b.Helper()
	config := &static.ACME{}
	config.SetDefaults()
	config.HTTPChallenge = &static.HTTPChallenge{EntryPoint: "web"}
	resolvers := acme.New(acme.Options{
		Resolvers: map[string]*static.ACME{"le": config}, Logger: telemetry.Discard{}, Metrics: noMetrics{},
		Open: func(string) (storage.Store, error) { return memory, nil },
	})
	ctx, cancel := context.WithCancel(b.Context())
	messages, ended := make(chan dynamic.Message), make(chan struct{})
	go func() { defer close(ended); resolvers.Run(ctx) }()
	provided := make(chan struct{})
	go func() { defer close(provided); _ = resolvers.Provider("le").Provide(ctx, messages) }()
	message := <-messages
	var entries []certificate.Entry
	for _, one := range message.Configuration.TLS.Certificates {
		entries = append(entries, certificate.Entry{
			Name: one.Name, Certificate: one.Certificate, FilesRevision: one.FilesRevision, Resolver: "le",
		})
	}
	set, problems := certificate.NewSet(entries, nil)
	if len(problems) > 0 || len(set.Leaves()) != many {
		b.Fatalf("%d certificates, problems %v", len(set.Leaves()), problems)
	}
	return started{resolvers, message, set, func() { cancel(); <-ended; <-provided }}
}

// BenchmarkStart measures the start with 10,000 certificates (bound: 2 s), and what one takes in memory (bound: 12
// KiB), without the storage.
func BenchmarkStart(b *testing.B) {
	memory := filled(b)
	for b.Loop() {
		b.StopTimer()
		before := heap()
		b.StartTimer()
		s := begin(b, memory)
		b.StopTimer()
		b.ReportMetric(float64(heap()-before)/many, "B/certificate")
		runtime.KeepAlive(s.set)
		runtime.KeepAlive(s.message)
		s.stop()
		b.StartTimer()
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// BenchmarkLookup measures the choice among 10,000 certificates in a handshake (bound: 200 ns).
func BenchmarkLookup(b *testing.B) {
	s := begin(b, filled(b))
	defer s.stop()
	hellos := make([]*tls.ClientHelloInfo, 1024)
	for i := range hellos {
		hellos[i] = &tls.ClientHelloInfo{ServerName: fmt.Sprintf("host%05d.example.com", i*9%many)}
	}
	i := 0
	for b.Loop() {
		if s.set.Get(hellos[i%len(hellos)], true) == nil {
			b.Fatal("no certificate")
		}
		i++
	}
}
