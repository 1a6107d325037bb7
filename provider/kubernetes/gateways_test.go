package kubernetes

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

// TestOwnServicesAreReadWhereTheyAre proves in which namespaces Services of Gateways are looked for where the provider
// reads some namespaces only: that of Sluice is one of them when Gateways share a Service there.
func TestOwnServicesAreReadWhereTheyAre(t *testing.T) {
	for name, test := range map[string]struct {
		exposure   static.GatewayExposure
		merge      bool
		namespaces []string
		want       []string
	}{
		"all namespaces":               {static.ExposeByService, true, nil, []string{""}},
		"a Service for each":           {static.ExposeByService, false, []string{"shop"}, []string{"shop"}},
		"one for all":                  {static.ExposeByService, true, []string{"shop", "blog"}, []string{"blog", "home", "shop"}},
		"one for all, in one of these": {static.ExposeByService, true, []string{"home"}, []string{"home"}},
		"none to be reached by":        {static.ExposeOnNode, true, []string{"shop"}, []string{"shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "home")
			server := clienttest.New(t)
			var config static.KubernetesGateway
			config.SetDefaults()
			config.Endpoint, config.Namespaces = server.URL(), test.namespaces
			config.Exposure, config.MergeGateways = test.exposure, test.merge
			all, err := New(Options{
				Gateway: &config, Metrics: metrics.New(metrics.Options{EntryPoints: true}), Logger: telemetry.Discard{},
			})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			done := make(chan struct{})
			go func() {
				defer close(done)
				all.Watch(ctx)
			}()
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			for len(namespacesOfServices(server.Requests())) < len(test.want) && ctx.Err() == nil {
				<-ticker.C
			}
			cancel()
			<-done
			if diff := cmp.Diff(test.want, namespacesOfServices(server.Requests())); diff != "" {
				t.Errorf("Services are read in (-want +got)\n%s", diff)
			}
		})
	}
}

// namespacesOfServices returns where requests ask for the Services of Gateways, in order.
func namespacesOfServices(requests []string) []string {
	var found []string
	for _, request := range requests {
		method, path, _ := strings.Cut(request, " ")
		at, err := url.Parse(path)
		if err != nil || method != "list" && method != "watch" || !strings.HasSuffix(at.Path, "/services") ||
			!strings.Contains(at.Query().Get("labelSelector"), "sluice.dev/gateways") {
			continue
		}
		namespace, _, _ := strings.Cut(strings.TrimPrefix(at.Path, "/api/v1/namespaces/"), "/")
		found = append(found, namespace)
	}
	slices.Sort(found)
	return slices.Compact(found)
}
