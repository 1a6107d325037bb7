package endpoint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// tagScope is where the pods of the tests have their tags.
func tagScope() podScope { return podScope{"shop", "env"} }

func policy(strict bool) *virtualenvironment.Policy {
	options := &dynamic.Environment{}
	options.SetDefaults()
	options.Default, options.Strict = "dev", strict
	return &virtualenvironment.Policy{Label: "env", Environment: options}
}

func tagged(uid, tag string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: uid, UID: types.UID(uid), Labels: map[string]string{"env": tag},
	}}
}

// divisionsOf shows how ports are divided: PORT: TAG TAG, with the known tags of a strict policy in brackets.
func divisionsOf(cache *sliceCache) []string {
	lines := []string{}
	for of, environment := range cache.divisions() {
		line := fmt.Sprint(of.name, ":", of.port, ":")
		if environment == nil {
			line += " plain"
		} else {
			for _, subset := range environment.Subsets {
				line += " " + subset.Tag
			}
			if environment.Tags != nil {
				line += " (" + strings.Join(environment.Tags, " ") + ")"
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// TestServicesAreDividedByTheLabelsOfTheirPods goes through the life of a Service in a namespace with a policy: what is
// sent, and how the Service is divided.
func TestServicesAreDividedByTheLabelsOfTheirPods(t *testing.T) {
	cache := newSliceCache("k", counts{}, func() {})
	notReady, terminating := conditions("nn-"), conditions("nyy")
	slices := []*discoveryv1.EndpointSlice{
		sliceOf("a", map[string]int32{"http": 80}, at("192.0.2.1", pod("u1")), at("192.0.2.2", pod("u2")), at("192.0.2.3")),
		sliceOf("a", map[string]int32{"http": 80}, at("192.0.2.1", pod("u1")), at("192.0.2.2", pod("u2"), notReady),
			at("192.0.2.3")),
		sliceOf("a", map[string]int32{"http": 80}, at("192.0.2.1", pod("u1")), at("192.0.2.2", pod("u2"), terminating),
			at("192.0.2.3")),
		sliceOf("a", map[string]int32{"http": 80}, at("192.0.2.1", pod("u1")), at("192.0.2.3")),
	}
	all := "k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.2:80 u2, 192.0.2.3:80"
	for _, step := range []struct {
		name    string
		change  func()
		sets    []string
		divided []string
	}{
		{name: "no policy", change: func() {
			cache.service(nil, web(port("http", 80)))
			cache.slice(nil, slices[0])
		}, sets: []string{all}, divided: []string{}},
		{name: "a policy, and no pod is known", change: func() {
			cache.policy("shop", policy(false))
		}, sets: []string{}, divided: []string{}},
		{name: "pods with the label", change: func() {
			cache.pod(tagScope(), nil, tagged("u1", "dev"))
			cache.pod(tagScope(), nil, tagged("u2", "dev.a"))
		}, sets: []string{
			all, "k/shop/web:80#dev: 192.0.2.1:80 u1", "k/shop/web:80#dev.a: 192.0.2.2:80 u2",
		}, divided: []string{"web:80: dev dev.a"}},
		{name: "a pod that is behind no Service", change: func() {
			cache.pod(tagScope(), nil, tagged("u9", "dev.z"))
		}, sets: []string{}, divided: []string{}},
		{
			name: "a pod that is not ready keeps its environment", change: func() { cache.slice(slices[0], slices[1]) },
			sets: []string{"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80", "k/shop/web:80#dev.a:"}, divided: []string{},
		},
		{
			name: "and one that terminates does not", change: func() { cache.slice(slices[1], slices[2]) },
			sets: []string{
				"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.2:80 u2 terminating, 192.0.2.3:80", "k/shop/web:80#dev.a: deleted",
			}, divided: []string{"web:80: dev"},
		},
		{
			name: "gone", change: func() { cache.slice(slices[2], slices[3]) },
			sets: []string{"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80"}, divided: []string{},
		},
		{name: "another tag", change: func() {
			cache.pod(tagScope(), tagged("u1", "dev"), tagged("u1", "dev.b"))
		}, sets: []string{
			"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80", "k/shop/web:80#dev: deleted", "k/shop/web:80#dev.b: 192.0.2.1:80 u1",
		}, divided: []string{"web:80: dev.b"}},
		{name: "a strict policy names the tags of the namespace", change: func() {
			cache.policy("shop", policy(true))
		}, sets: []string{"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80"}, divided: []string{
			"web:80: dev.b (dev.a dev.b dev.z)",
		}},
		{name: "a tag that is new in the namespace", change: func() {
			cache.pod(tagScope(), nil, tagged("u10", "dev.y"))
			cache.pod(tagScope(), nil, tagged("u11", "dev.y"))
		}, sets: []string{"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80"}, divided: []string{
			"web:80: dev.b (dev.a dev.b dev.y dev.z)",
		}},
		{name: "one of its pods goes", change: func() {
			cache.pod(tagScope(), tagged("u11", "dev.y"), nil)
		}, sets: []string{}, divided: []string{}},
		{name: "the label is taken away", change: func() {
			cache.pod(tagScope(), tagged("u1", "dev.b"), nil)
		}, sets: []string{
			"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80", "k/shop/web:80#dev.b: deleted",
		}, divided: []string{"web:80: plain"}},
		{name: "and comes back", change: func() {
			cache.pod(tagScope(), nil, tagged("u1", "dev"))
		}, sets: []string{
			"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80", "k/shop/web:80#dev: 192.0.2.1:80 u1",
		}, divided: []string{"web:80: dev (dev dev.a dev.y dev.z)"}},
		{name: "the policy goes", change: func() {
			cache.policy("shop", nil)
		}, sets: []string{
			"k/shop/web:80: 192.0.2.1:80 u1, 192.0.2.3:80", "k/shop/web:80#dev: deleted",
		}, divided: []string{"web:80: plain"}},
	} {
		step.change()
		if diff := cmp.Diff(step.sets, show(cache.collect())); diff != "" {
			t.Errorf("%s: sets (-want +got):\n%s", step.name, diff)
		}
		if diff := cmp.Diff(step.divided, divisionsOf(cache)); diff != "" {
			t.Errorf("%s: divisions (-want +got):\n%s", step.name, diff)
		}
	}
	if len(cache.pods.users) != 0 {
		t.Errorf("pods are still followed without a policy: %v", cache.pods.users)
	}
}

// TestPodsWithoutANewTagWakeNothing: a pod's status is written far more often than its labels.
func TestPodsWithoutANewTagWakeNothing(t *testing.T) {
	woken := 0
	cache := newSliceCache("k", counts{}, func() { woken++ })
	cache.policy("shop", policy(false))
	cache.service(nil, web(port("http", 80)))
	cache.slice(nil, sliceOf("a", map[string]int32{"http": 80}, at("192.0.2.1", pod("u1"))))
	for _, step := range []struct {
		name          string
		before, after *metav1.PartialObjectMetadata
		want          int
	}{
		{"a new pod", nil, tagged("u1", "dev"), 1},
		{"its status", tagged("u1", "dev"), tagged("u1", "dev"), 0},
		{"another tag", tagged("u1", "dev"), tagged("u1", "dev.a"), 1},
		{"a pod that is behind no Service", nil, tagged("u9", "dev"), 0},
		{"gone", tagged("u1", "dev.a"), nil, 1},
	} {
		cache.collect()
		woken = 0
		if cache.pod(tagScope(), step.before, step.after); woken != step.want {
			t.Errorf("%s: woken %d times, want %d", step.name, woken, step.want)
		}
	}
}

// TestEnvironmentsAreForgotten proves that nothing is kept of pods and Services that are gone.
func TestEnvironmentsAreForgotten(t *testing.T) {
	cache := newSliceCache("k", counts{}, func() {})
	cache.policy("shop", policy(true))
	slice := sliceOf("a", map[string]int32{"http": 80}, at("192.0.2.1", pod("u1")))
	cache.service(nil, web(port("http", 80)))
	cache.slice(nil, slice)
	cache.pod(tagScope(), nil, tagged("u1", "dev"))
	cache.collect()
	cache.slice(slice, nil)
	cache.service(web(port("http", 80)), nil)
	cache.pod(tagScope(), tagged("u1", "dev"), nil)
	want := []string{"k/shop/web:80: deleted", "k/shop/web:80#dev: deleted"}
	if diff := cmp.Diff(want, show(cache.collect())); diff != "" {
		t.Errorf("sets (-want +got):\n%s", diff)
	}
	cache.policy("shop", nil)
	cache.forget(tagScope())
	left := len(cache.entries) + len(cache.pods.users) + len(cache.pods.counts) + len(cache.pods.tags) +
		len(cache.pods.policies)
	if left > 0 {
		t.Errorf("%d things are left", left)
	}
}

// BenchmarkChangeInEnvironments is the change of one pod of 5,000 with 500 tags behind 50 Services, with environments
// and without.
func BenchmarkChangeInEnvironments(b *testing.B) {
	const services, pods, tags = 50, 100, 500
	for _, divided := range []bool{false, true} {
		b.Run(fmt.Sprintf("divided=%t", divided), func(b *testing.B) {
			cache := newSliceCache("k", counts{}, func() {})
			if divided {
				cache.policy("shop", policy(false))
			}
			var last *discoveryv1.EndpointSlice
			for i := range services {
				service := web(port("http", 80))
				service.Name = fmt.Sprint("web-", i)
				last = sliceOf(service.Name, map[string]int32{"http": 8080})
				last.Labels[discoveryv1.LabelServiceName] = service.Name
				for j := range pods {
					uid := fmt.Sprint("u", i*pods+j)
					last.Endpoints = append(last.Endpoints, at(fmt.Sprintf("192.0.%d.%d", i, j), pod(uid)))
					if divided {
						cache.pod(tagScope(), nil, tagged(uid, fmt.Sprint("dev.t", (i*pods+j)%tags)))
					}
				}
				cache.service(nil, service)
				cache.slice(nil, last)
			}
			cache.collect()
			cache.divisions()
			other := last.DeepCopy()
			other.Endpoints[7].Conditions.Ready = to(false)
			b.ReportAllocs()
			for b.Loop() {
				cache.slice(last, other)
				if sets := cache.collect(); len(sets) == 0 || len(cache.divisions()) > 0 {
					b.Fatal("a change is not sent")
				}
				last, other = other, last
			}
		})
	}
}
