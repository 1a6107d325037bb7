package docker

import (
	gocmp "cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	enginetypes "github.com/moby/moby/api/types/container"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/providertest"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is one file of testdata/containers: options, and containers in the engine's format.
type fixture struct {
	Options    map[string]any                `json:"options"`
	Containers []enginetypes.InspectResponse `json:"containers"`
}

// newTestProvider returns a provider with the defaults and these options, whose host is at 192.0.2.1.
func newTestProvider(t testing.TB, options map[string]any) *Provider {
	t.Helper()
	var config static.Docker
	config.SetDefaults()
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	p, err := New(config, telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	p.self = strings.Repeat("ab", 6)
	p.hostAddress = netip.MustParseAddr("192.0.2.1")
	return p
}

func TestContainers(t *testing.T) {
	files, err := filepath.Glob("testdata/containers/*.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 30 {
		t.Fatalf("there are %d fixtures, want 30 at least", len(files))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var input fixture
			if err := json.Unmarshal(text, &input); err != nil {
				t.Fatal(err)
			}
			p := newTestProvider(t, input.Options)
			for i := range input.Containers {
				p.containers[input.Containers[i].ID] = newContainer(&input.Containers[i], p.memory.read)
			}
			first := p.assemble()
			p.memory.objects, p.published = first.objects, first.sets
			checkState(t, first)
			compare(t, strings.TrimSuffix(file, ".json")+".golden", describe(t, first))
			if again := p.assemble(); !maps.Equal(first.objects, again.objects) || !alikeBeside(first.config, again.config) {
				t.Error("the same containers make another state the second time")
			}
		})
	}
}

// checkState checks what holds for every state.
func checkState(t *testing.T, s state) {
	t.Helper()
	for ref, object := range providertest.Objects(s.config) {
		if s.config.Origins.Get(ref) == (dynamic.Origin{}) {
			t.Errorf("%v has no origin", ref)
		}
		if s.objects[ref] != object {
			t.Errorf("%v is not the object that is stored", ref)
		}
		if key, _ := setOf(object); key != "" {
			if _, ok := s.sets[key]; !ok {
				t.Errorf("%v names a set that is not published", ref)
			}
		}
	}
	for _, verdict := range s.config.Verdicts {
		if verdict.Reason == "" || verdict.Origin.Object == "" {
			t.Errorf("the verdict %+v says too little", verdict)
		}
	}
}

func describe(t *testing.T, s state) string {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(s.config); err != nil {
		t.Fatal(err)
	}
	refs := slices.SortedFunc(maps.Keys(s.objects), func(a, b dynamic.Ref) int {
		return gocmp.Or(gocmp.Compare(a.Kind, b.Kind), gocmp.Compare(a.Name, b.Name))
	})
	for _, ref := range refs {
		if key, scheme := setOf(s.objects[ref]); key != "" {
			fmt.Fprintf(&out, "%s %s: %s over %s\n", ref.Kind, ref.Name, scheme, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.sets)) {
		fmt.Fprintf(&out, "set %s:", key)
		for _, endpoint := range s.sets[key] {
			fmt.Fprintf(&out, " %s (%s)", endpoint.Address, short(endpoint.UID))
		}
		out.WriteString("\n")
	}
	for _, verdict := range s.config.Verdicts {
		fmt.Fprintf(&out, "%s: %s\n", verdict.Status, verdict)
	}
	return out.String()
}

// setOf returns the endpoint set of a service and how it is spoken to; empty for everything else.
func setOf(object any) (key, scheme string) {
	switch service := object.(type) {
	case *dynamic.Service:
		if balancer := service.LoadBalancer; balancer != nil {
			return balancer.EndpointSet, balancer.Scheme
		}
	case *dynamic.TCPService:
		if balancer := service.LoadBalancer; balancer != nil && balancer.TLS {
			return balancer.EndpointSet, "tls"
		} else if balancer != nil {
			return balancer.EndpointSet, "tcp"
		}
	case *dynamic.UDPService:
		if balancer := service.LoadBalancer; balancer != nil {
			return balancer.EndpointSet, "udp"
		}
	}
	return "", ""
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}
