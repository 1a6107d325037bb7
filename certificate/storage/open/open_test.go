package open_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLocations(t *testing.T) {
	for _, test := range []struct{ location, want string }{
		{"acme.json", "*file.Store"},
		{"/etc/sluice/acme.json", "*file.Store"},
		{"file:///etc/sluice/acme.json", "*file.Store"},
		{"kubernetes://", "*secret.Store"},
		{"kubernetes://edge/", "*secret.Store"},
		{"redis://u:secret@a:1/2?prefix=x", "*redis.Store"},
		{"rediss://a", "*redis.Store"},
		{"etcd://u:secret@a:1,b:2/x", "*etcd.Store"},
		{"etcds://a", "*etcd.Store"},
		{"", "empty"},
		{"file://acme.json", "file:///path"},
		{"file:///a?secret", "file:///path"},
		{"kubernetes://a/secret", "kubernetes://namespace"},
		{"kubernetes://A", "kubernetes://namespace"},
		{"redis://u:secret@a/x", "redis://a:6379"},
		{"etcd://u:secret@", "etcd://"},
		{"consul://u:secret@a", "can't be stored in consul://"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		store, err := open.Open(ctx, test.location, open.Options{
			Logger: telemetry.Discard{}, Cluster: client.Options{Endpoint: "http://127.0.0.1:1"},
		})
		got := fmt.Sprintf("%T", store)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || err != nil && strings.Contains(got, "secret") ||
			(store == nil) != (err != nil) {
			t.Errorf("%s: %s, not %s", test.location, got, test.want)
		}
		cancel()
	}
}
