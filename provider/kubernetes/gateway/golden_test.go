package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/static"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestGoldens translates the manifests of each file, and compares the configuration and the statuses.
func TestGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			manifests, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			common, err := os.ReadFile("testdata/common.txt")
			if err != nil {
				t.Fatal(err)
			}
			c := newCluster()
			p := c.provider(static.KubernetesGateway{ExperimentalChannel: true})
			c.apply(t, common)
			c.apply(t, manifests)
			configuration := served(p)
			got := shown(t, configuration, p)
			golden := strings.TrimSuffix(file, ".yaml") + ".golden.txt"
			if *update {
				if err := os.WriteFile(golden, got, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", golden, diff)
			}
		})
	}
	if len(files) < 6 {
		t.Errorf("%d cases, want at least 6", len(files))
	}
}

// shown returns a configuration and the statuses as text, without the contents of certificates.
func shown(t testing.TB, configuration *dynamic.Configuration, p *Provider) []byte {
	t.Helper()
	var lines []string
	for ref, object := range configuration.Objects() {
		line := string(ref.Kind) + " " + ref.Name + " " + text(t, object)
		switch one := object.(type) {
		case *dynamic.Router:
			line += fmt.Sprintf(" match=%s precedence=%v", one.RuleText(), one.Precedence)
		case *dynamic.Service:
			if one.LoadBalancer != nil {
				line += " " + one.LoadBalancer.Scheme + " " + one.LoadBalancer.EndpointSet
			}
		case *dynamic.TCPService:
			if one.LoadBalancer != nil {
				line += " " + one.LoadBalancer.EndpointSet
			}
		case *dynamic.UDPService:
			if one.LoadBalancer != nil {
				line += " " + one.LoadBalancer.EndpointSet
			}
		}
		lines = append(lines, line)
	}
	for _, entry := range configuration.TLS.Certificates {
		lines = append(lines, fmt.Sprintf("certificate %s %v", entry.Name, entry.EntryPoints))
	}
	for _, verdict := range configuration.Verdicts {
		lines = append(lines, fmt.Sprintf("verdict %s: %s", verdict.Status, verdict))
	}
	slices.Sort(lines)
	lines = append(lines, statusLines(p)...)
	return []byte(strings.Join(lines, "\n") + "\n")
}

// text returns an object as JSON, in which certificates are only mentioned.
func text(t testing.TB, object any) string {
	t.Helper()
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSpace(encoded.String()), "-----BEGIN ")
	for i := range parts[1:] {
		_, rest, _ := strings.Cut(parts[i+1], `"`)
		parts[i+1] = `(PEM)"` + rest
	}
	return strings.Join(parts, "")
}

// statusLines returns the statuses as text.
func statusLines(p *Provider) []string {
	keys := make([]status.Key, 0, len(p.statuses.desired))
	for key := range p.statuses.desired {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b status.Key) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.String(), b.String()))
	})
	var lines []string
	for _, key := range keys {
		one := p.statuses.desired[key]
		name := "status " + string(key.Kind) + " " + key.String()
		switch {
		case one.Class != nil:
			lines = append(lines, fmt.Sprintf("%s: in use %t, %d features%s", name, one.InUse,
				len(one.Class.SupportedFeatures), conditionText(one.Class.Conditions)))
		case one.Gateway != nil:
			lines = append(lines, fmt.Sprintf("%s: %d addresses, %d sets%s", name, len(one.Gateway.Addresses),
				*one.Gateway.AttachedListenerSets, conditionText(one.Gateway.Conditions)))
			for _, l := range one.Gateway.Listeners {
				lines = append(lines, fmt.Sprintf("  %s: %d routes, %d kinds%s", l.Name, l.AttachedRoutes,
					len(l.SupportedKinds), conditionText(l.Conditions)))
			}
		case one.ListenerSet != nil:
			lines = append(lines, name+":"+conditionText(one.ListenerSet.Conditions))
			for _, l := range one.ListenerSet.Listeners {
				lines = append(lines, fmt.Sprintf("  %s: %d routes, %d kinds%s", l.Name, l.AttachedRoutes,
					len(l.SupportedKinds), conditionText(l.Conditions)))
			}
		}
		for _, parent := range one.Parents {
			lines = append(lines, fmt.Sprintf("%s: parent %s %s%s", name, parent.ParentRef.Name,
				valueOf(parent.ParentRef.SectionName, ""), conditionText(parent.Conditions)))
		}
		for _, ancestor := range one.Ancestors {
			lines = append(lines, fmt.Sprintf("%s: ancestor %s%s", name, ancestor.AncestorRef.Name,
				conditionText(ancestor.Conditions)))
		}
	}
	return lines
}

func conditionText(conditions []metav1.Condition) string {
	var all strings.Builder
	for _, one := range conditions {
		fmt.Fprintf(&all, " %s=%s:%s@%d", one.Type, one.Status, one.Reason, one.ObservedGeneration)
	}
	return all.String()
}
