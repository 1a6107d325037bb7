package annotation_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// BenchmarkRead reads the annotations of a usual Ingress.
func BenchmarkRead(b *testing.B) {
	annotations := map[string]string{
		annotation.Prefix + "rewrite-target": "/$2", annotation.Prefix + "proxy-body-size": "8m",
		annotation.Prefix + "auth-url": "http://auth.auth.svc/check", annotation.Prefix + "enable-cors": "true",
		annotation.Prefix + "allowlist-source-range": "10.0.0.0/8,192.168.0.0/16",
	}
	reader := annotation.NewReader(annotation.DefaultSettings())
	b.ReportAllocs()
	for b.Loop() {
		reader.Read("shop", annotations)
	}
}
