package environments

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/xds"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// applications are those of KT-env's acceptance tests, with the tags of their workloads.
func applications() string {
	var all strings.Builder
	for app, tags := range map[string][]string{
		"app-js": {"dev", "dev.proj1"}, "app-go": {"dev", "dev.proj2"},
		"app-java": {"dev", "dev.proj1", "dev.proj1.feature1"},
	} {
		all.WriteString(service(app))
		for _, tag := range tags {
			if app == "app-go" {
				all.WriteString(statefulSet(app, tag, "1"))
			} else {
				all.WriteString(deployment(app, tag, "1"))
			}
		}
	}
	return all.String()
}

// TestAcceptanceOfKTEnv runs the cases of KT-env's acceptance test: app-js calls app-go, and that app-java, each
// through the edge with the header that it got. Seven workloads have five tags.
func TestAcceptanceOfKTEnv(t *testing.T) {
	f := acceptance(t)
	query := url.Values{"pass": {header}, "next": {"app-go,app-java"}, "via": {f.sluice.Addr("web")}}.Encode()
	cases := chains()
	cases["dev.proj1.feature9"] = []string{"dev.proj1", "dev", "dev.proj1"}
	cases["dev.proj1-abc"] = []string{"dev", "dev", "dev"}
	for tag, want := range cases {
		carried := []string{tag, tag, tag}
		f.chain("app-js/?"+query, tag, want, carried)
	}
}

// TestAcceptanceOfKTEnvThroughSidecars runs the same cases with calls through sidecars, which add the tag of their pod
// to requests without one.
func TestAcceptanceOfKTEnvThroughSidecars(t *testing.T) {
	f := acceptance(t)
	harness.Start(t, harness.Setup{NotReady: true, Args: []string{
		"sidecar", "--providers.xds.address=" + publisher, "--providers.xds.namespace=shop",
		"--entryPoints.proxy.forwardProxy.defaultHeaders." + header + "=dev", "--log.level=DEBUG",
	}})
	query := url.Values{"pass": {header}, "next": {"app-go,app-java"}, "proxy": {proxy}}.Encode()
	f.until("the sidecar answers", func() bool {
		return strings.Count(f.get("app-js/?"+query, "dev").Text, "\n") == 3
	})
	for tag, want := range chains() {
		carried := []string{tag, cmp.Or(tag, "dev"), cmp.Or(tag, "dev")}
		f.chain("app-js/?"+query, tag, want, carried)
	}
}

// TestAcceptanceOfKTEnvByGRPC selects the same pods by gRPC over xDS, with the tag in the metadata of the calls.
func TestAcceptanceOfKTEnvByGRPC(t *testing.T) {
	acceptance(t)
	for i, app := range []string{"app-js", "app-go", "app-java"} {
		service := dialXDS(t, app+".shop:80")
		for tag, want := range chains() {
			ctx := t.Context()
			if tag != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, header, tag)
			}
			var got string
			harness.Eventually(t, timeout, func() bool { // Without waiting for ready: a call keeps the cluster that it has.
				answer, err := service.UnaryCall(ctx, &grpc_testing.SimpleRequest{})
				got = cmp.Or(workload(answer.GetServerId()), fmt.Sprint(err))
				return got == name(app, want[i])
			}, func() string {
				return fmt.Sprintf("%s with %q is answered by %s, want %s", app, tag, got, name(app, want[i]))
			})
		}
	}
}

// dialXDS returns a channel of grpc-go to a listener.
func dialXDS(t *testing.T, listener string) grpc_testing.TestServiceClient {
	t.Helper()
	config := fmt.Sprintf(`{"xds_servers":[{"server_uri":%q,"channel_creds":[{"type":"insecure"}],`+
		`"server_features":["xds_v3"]}],"node":{"id":"go"}}`, publisher)
	resolver, err := xds.NewXDSResolverWithConfigForTesting([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	channel, err := grpc.NewClient("xds:///"+listener, grpc.WithResolvers(resolver), grpc.WithNoProxy(),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() })
	return grpc_testing.NewTestServiceClient(channel)
}

// chains are the tags of the cases with the environments that answer, of app-js, app-go and app-java.
func chains() map[string][]string {
	return map[string][]string{
		"dev.proj1":          {"dev.proj1", "dev", "dev.proj1"},
		"dev.proj1.feature1": {"dev.proj1", "dev", "dev.proj1.feature1"},
		"dev.proj2":          {"dev", "dev.proj2", "dev"},
		"dev":                {"dev", "dev", "dev"},
		"":                   {"dev", "dev", "dev"},
	}
}

// acceptance starts the seven workloads and waits until each environment answers.
func acceptance(t *testing.T) *field {
	t.Helper()
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), applications())
	for _, path := range []string{
		"app-js-dev-x", "app-js-dev-proj1-x", "app-java-dev-x", "app-java-dev-proj1-x",
		"app-java-dev-proj1-feature1-x",
	} {
		f.Deployed("shop/" + path)
	}
	f.Endpoints("shop/app-go", 2)
	for _, app := range []string{"app-js", "app-go", "app-java"} {
		f.becomes(app, "dev", name(app, "dev"))
	}
	f.becomes("app-java", "dev.proj1", "app-java-dev-proj1")
	f.becomes("app-java", "dev.proj1.feature1", "app-java-dev-proj1-feature1")
	f.becomes("app-go", "dev.proj2", "app-go-dev-proj2")
	f.becomes("app-js", "dev.proj1", "app-js-dev-proj1")
	return f
}

// chain requests the first application until the workloads that answer, and the tags that they get, are those that are
// wanted.
func (f *field) chain(where, tag string, environments, carried []string) {
	f.t.Helper()
	var got, want []string
	for i, app := range []string{"app-js", "app-go", "app-java"} {
		want = append(want, name(app, environments[i])+" <-"+carried[i])
	}
	harness.Eventually(f.t, timeout, func() bool {
		got = nil
		for line := range strings.Lines(f.get(where, tag).Text) {
			pod, tag, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			got = append(got, workload(pod)+" <-"+tag)
		}
		return slices.Equal(got, want)
	}, func() string { return fmt.Sprintf("%q is answered by %q, want %q", tag, got, want) })
}
