package population

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// flipEvery is the time between two changes of annotations.
const flipEvery = 5 * time.Millisecond

// flips are annotations that are set and removed in turns.
func flips() []map[string]any {
	return []map[string]any{
		{"enable-cors": "true", "cors-allow-origin": "https://*.example.com"},
		{"use-regex": "true", "rewrite-target": "/$1"},
		{"limit-rps": "100"},
		{"proxy-body-size": "3m", "proxy-read-timeout": "33"},
		{"affinity": "cookie", "session-cookie-name": "flip"},
		{"auth-type": "basic", "auth-secret": "users"},
		{"server-alias": "alias.HOST"},
		{"permanent-redirect": "https://www.HOST/"},
		{"enable-modsecurity": "true"},
		{"upstream-vhost": "HOST.internal"},
		{"force-ssl-redirect": "true"},
		{"custom-http-errors": "404,503"},
	}
}

// Flip changes the annotations of hosts, one after the other, until the context ends. It returns the number of changes.
func Flip(ctx context.Context, tb testing.TB, client kubernetes.Interface, members []Member) int {
	tb.Helper()
	ticker := time.NewTicker(flipEvery)
	defer ticker.Stop()
	all := flips()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return n
		case <-ticker.C:
		}
		m := members[n%len(members)]
		round := n / len(members)
		annotations := map[string]any{}
		for key, value := range all[(n+round/2)%len(all)] {
			annotations[Prefix+key] = nil
			if round%2 == 0 {
				annotations[Prefix+key] = expand(m, fmt.Sprint(value))
			}
		}
		if err := Annotate(context.WithoutCancel(ctx), client, m, annotations); err != nil {
			tb.Errorf("annotations of %s: %v", m.Host, err)
			return n
		}
	}
}

// Annotate merges annotations into the first Ingress of a host; nil removes one.
func Annotate(ctx context.Context, client kubernetes.Interface, m Member, annotations map[string]any) error {
	return Patch(ctx, client, m, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}

// Patch merges something into the first Ingress of a host.
func Patch(ctx context.Context, client kubernetes.Interface, m Member, change map[string]any) error {
	text, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = client.NetworkingV1().Ingresses(m.Namespace).Patch(ctx, m.Ingresses[0].Name, types.MergePatchType, text,
		metav1.PatchOptions{})
	return err
}

// Turn leads the first Ingress of a host to one of two Services, which is requested by the host HostOf returns.
func Turn(ctx context.Context, client kubernetes.Interface, m Member, turn int) error {
	service := TurnService(turn)
	return Patch(ctx, client, m, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			Prefix + "upstream-vhost": HostOf(m.Namespace + "/" + service),
		}},
		"spec": map[string]any{"rules": []any{map[string]any{
			"host": m.Host, "http": map[string]any{"paths": []any{map[string]any{
				"path": "/", "pathType": "Prefix", "backend": map[string]any{"service": map[string]any{
					"name": service, "port": map[string]any{"number": 80},
				}},
			}}},
		}}},
	})
}

// HostOf returns the host by which an endpoint is requested, whose name is "NAMESPACE/SERVICE", after Turn.
func HostOf(backend string) string {
	_, service, _ := strings.Cut(backend, "/")
	return service + ".internal"
}
