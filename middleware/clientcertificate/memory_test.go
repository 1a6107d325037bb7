package clientcertificate_test

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// TestMemoryHasABound has clients present many certificates, which nothing may keep in memory.
func TestMemoryHasABound(t *testing.T) {
	ca, other := newAuthority(t, nil, "CA"), newAuthority(t, nil, "Other")
	usual := ca.issue("client", nil)
	for name, test := range map[string]struct {
		mode        string
		size, count int
		want        string
	}{
		"refused":              {"on", 100 << 10, 500, "400"},
		"passed on":            {"optional_no_ca", 4 << 10, 4000, "200"},
		"passed on, are large": {"optional_no_ca", 16 << 10, 1000, "200"},
		"too long":             {"optional_no_ca", 100 << 10, 500, "431"},
	} {
		t.Run(name, func(t *testing.T) {
			step := build(t, dynamic.ClientCertificate{
				Mode: test.mode, CAFiles: []string{ca.pem()}, Depth: 1, PassCertificate: true,
			})
			stranger := other.issue("stranger", nil)
			before := heap()
			for i := range test.count {
				one := *stranger
				one.Raw = binary.BigEndian.AppendUint64(append(make([]byte, 0, test.size+8), one.Raw...), uint64(i))
				one.Raw = one.Raw[:test.size]
				if got := ask(t, step, &one); !strings.HasPrefix(got, test.want) {
					t.Fatalf("%.100s, want %s", got, test.want)
				}
			}
			if grown := heap() - before; grown > 8<<20 {
				t.Errorf("%d bytes are kept", grown)
			}
			for range 2 {
				if got := ask(t, step, usual); !strings.HasPrefix(got, "200 Verify=SUCCESS") {
					t.Error(got)
				}
			}
		})
	}
}

// heap returns how many bytes are in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
