package population

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// Of returns the hosts of some kinds.
func Of(members []Member, some ...string) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return !slices.Contains(some, m.Kind) })
}

// Without returns the hosts that are not among others.
func Without(members, others []Member) []Member {
	return slices.DeleteFunc(slices.Clone(members), func(m Member) bool {
		return slices.ContainsFunc(others, func(other Member) bool { return other.Host == m.Host })
	})
}

// Hosts returns the names of hosts.
func Hosts(members []Member) []string {
	var names []string
	for _, m := range members {
		names = append(names, m.Host)
	}
	return names
}

// turnEvery is the time between two changes of a host's Service.
const turnEvery = 50 * time.Millisecond

// Turns leads a host to one and another Service in turns until the context ends, and returns how often.
func Turns(ctx context.Context, tb testing.TB, client kubernetes.Interface, m Member) int {
	tb.Helper()
	ticker := time.NewTicker(turnEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return n
		case <-ticker.C:
		}
		if err := Turn(context.WithoutCancel(ctx), client, m, n+1); err != nil {
			tb.Errorf("%s: %v", m.Host, err)
			return n
		}
	}
}

// DeleteIngresses deletes the Ingresses of hosts from a cluster.
func DeleteIngresses(tb testing.TB, client kubernetes.Interface, members []Member) {
	tb.Helper()
	done := map[string]bool{}
	for _, m := range members {
		if done[m.Namespace] {
			continue
		}
		done[m.Namespace] = true
		if err := client.NetworkingV1().Ingresses(m.Namespace).DeleteCollection(tb.Context(), metav1.DeleteOptions{},
			metav1.ListOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
}

// Describe returns the numbers of hosts of each kind.
func Describe(members []Member) string {
	counts := map[string]int{}
	for _, m := range members {
		counts[m.Kind]++
	}
	var text []string
	for _, k := range kinds() {
		text = append(text, fmt.Sprintf("%d %s", counts[k.name], k.name))
	}
	return strings.Join(text, ", ")
}

// Certificates returns what issues certificates for Around.
func Certificates(tb testing.TB, authority *harness.Authority) func(name string) (certificate, key, own []byte) {
	return func(name string) (certificate, key, own []byte) {
		tb.Helper()
		issued := authority.Issue(name)
		var texts [3][]byte
		for i, file := range []string{issued.CertFile, issued.KeyFile, authority.File} {
			text, err := os.ReadFile(file)
			if err != nil {
				tb.Fatal(err)
			}
			texts[i] = text
		}
		return texts[0], texts[1], texts[2]
	}
}
