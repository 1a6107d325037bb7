package deploy

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// question is a SelfSubjectAccessReview.
type question struct{ verb, group, resource, subresource, namespace, name string }

func (q question) right() string {
	resource := q.resource
	if q.subresource != "" {
		resource += "/" + q.subresource
	}
	right := q.verb + " " + strings.TrimSuffix(resource+"."+q.group, ".")
	if q.name != "" {
		right += " " + q.name
	}
	return right
}

// questions are about every verb of every resource of the cluster, in a namespace or, if that is empty, of
// cluster-scoped ones, except for reviews about oneself.
func questions(t *testing.T, c *cluster.Cluster, namespace string) []question {
	t.Helper()
	_, served, err := c.Kubernetes.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	for _, list := range served {
		group, _, found := strings.Cut(list.GroupVersion, "/")
		if !found {
			group = ""
		}
		if group == "authorization.k8s.io" || group == "authentication.k8s.io" {
			continue
		}
		for _, resource := range list.APIResources {
			if resource.Namespaced != (namespace != "") {
				continue
			}
			name, subresource, _ := strings.Cut(resource.Name, "/")
			for _, verb := range resource.Verbs {
				all = append(all, question{verb, group, name, subresource, namespace, ""})
			}
		}
	}
	if namespace != "" {
		for _, verb := range []string{"get", "update", "patch", "delete"} {
			all = append(all, question{verb, "coordination.k8s.io", "leases", "", namespace, "sluice"})
		}
	}
	return all
}

// allowed returns the permissions of the client among the questions.
func allowed(t *testing.T, client kubernetes.Interface, all []question) []string {
	t.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	granted := map[string]bool{}
	room := make(chan struct{}, 8)
	for _, q := range all {
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: q.verb, Group: q.group, Resource: q.resource, Subresource: q.subresource, Namespace: q.namespace,
					Name: q.name,
				},
			}}
			answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review,
				metav1.CreateOptions{})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%s: %v", q.right(), err)
			} else if answer.Status.Allowed {
				granted[q.right()] = true
			}
		})
	}
	running.Wait()
	return slices.Sorted(maps.Keys(granted))
}

// inNamespace are the rights of needed that are about what has a namespace, but for a kind that the oldest group never
// had.
func inNamespace(rights []string) []string {
	return slices.DeleteFunc(slices.Clone(rights), func(right string) bool {
		return strings.HasSuffix(right, " nodes") || strings.Contains(right, " ingressclasses.") ||
			strings.HasSuffix(right, " serverstransporttcps.traefik.containo.us")
	})
}

// expectRights checks the ServiceAccount's permission for every verb of every resource with a real API server. want is
// by namespace.
func expectRights(t *testing.T, c *cluster.Cluster, want map[string][]string) {
	t.Helper()
	account := c.As(c.AccountToken("sluice/sluice"))
	for namespace, want := range want {
		asked := questions(t, c, namespace)
		if len(asked) < 50 {
			t.Errorf("%q: only %d requests", namespace, len(asked))
		}
		if diff := cmp.Diff(want, allowed(t, account, asked)); diff != "" {
			t.Errorf("rights in namespace %q (-want +got)\n%s", namespace, diff)
		}
	}
}

func sorted(lists ...[]string) []string { return slices.Sorted(slices.Values(slices.Concat(lists...))) }
