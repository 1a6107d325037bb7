package report

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

const (
	environmentsAPI  = "/apis/env.alibaba.com/v1alpha2"
	environmentsPath = environmentsAPI + "/namespaces/shop/virtualenvironments/"
)

// environment puts a VirtualEnvironment into the cluster and into the watch cache, and returns its Resource.
func (r *rig) environment(name string) *dynamic.Resource {
	r.t.Helper()
	object := &virtualenvironment.VirtualEnvironment{
		TypeMeta: metav1.TypeMeta{APIVersion: virtualenvironment.GroupVersion().String(), Kind: virtualenvironment.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name), Generation: 3,
		},
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		r.t.Fatal(err)
	}
	object.ResourceVersion = r.server.put(environmentsPath+name, content)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[object.Kind+" shop/"+name] = object
	return &dynamic.Resource{
		APIVersion: object.APIVersion, Kind: object.Kind, Namespace: "shop", Name: name, UID: "uid-" + name, Generation: 3,
	}
}

// environmentStatus returns the status of a VirtualEnvironment as the cluster has it.
func (r *rig) environmentStatus(name string) v1alpha1.Status {
	r.t.Helper()
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	object := &virtualenvironment.VirtualEnvironment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.server.objects[environmentsPath+name],
		object); err != nil {
		r.t.Fatal(err)
	}
	return object.Status
}

// A VirtualEnvironment refers to nothing, so that it has the condition Accepted alone.
func TestVirtualEnvironmentsHaveAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		oldest, later := r.environment("oldest"), r.environment("later")
		conflict := dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: "later@kubernetesendpoints"},
			Origin: dynamic.Origin{Resource: later}, Status: dynamic.Quarantined, Code: dynamic.CodeConflictingName,
			Reason: "another one is older",
		}
		r.show(provider.State{
			Included: map[string]*dynamic.Configuration{"kubernetesendpoints": declaring(oldest, later)},
			Verdicts: []dynamic.Verdict{conflict}, Settled: true,
		})
		r.run()
		r.Publish([]dynamic.Verdict{conflict})
		pass(time.Second)
		for name, want := range map[string][]string{
			"oldest": {"Accepted=True Accepted: "}, "later": {"Accepted=False ConflictingName: another one is older"},
		} {
			status := r.environmentStatus(name)
			if diff := cmp.Diff(want, conditions(status)); diff != "" || status.ObservedGeneration != 3 {
				t.Errorf("%s: generation %d, conditions (-want +got):\n%s", name, status.ObservedGeneration, diff)
			}
		}
		events := server.events()
		if len(events) != 1 || events[0].Message != "quarantined: another one is older" {
			t.Errorf("Events %v, want one with the message of the condition", events)
		}
	})
}

// likeKT is an API server with the definition of KT-env, which has no status, until it is replaced.
type likeKT struct {
	*apiServer
	mu       sync.Mutex
	replaced bool
}

// REST implements Clients.
func (l *likeKT) REST(version schema.GroupVersion) (rest.Interface, error) {
	return l.connect(version, l)
}

// RoundTrip answers a request.
func (l *likeKT) RoundTrip(request *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	recorder := httptest.NewRecorder()
	switch {
	case request.URL.Path == environmentsAPI:
		list := metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "virtualenvironments"}}}
		if l.replaced {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: "virtualenvironments/status"})
		}
		writeJSON(recorder, http.StatusOK, list)
	case strings.HasPrefix(request.URL.Path, environmentsPath) && !l.replaced:
		l.apiServer.mu.Lock()
		l.requests = append(l.requests, request.Method+" "+request.URL.Path)
		l.apiServer.mu.Unlock()
		fail(recorder, http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		return l.apiServer.RoundTrip(request)
	}
	return recorder.Result(), nil
}

func (l *likeKT) replace() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaced = true
}

// debugLines keeps the lines for those who look for a fault, too.
type debugLines struct {
	*lines
	debug *lines
}

// Debug implements telemetry.Logger.
func (d debugLines) Debug(message string, values ...any) { d.debug.add("debug", message, values) }

func TestADefinitionWithoutAStatusIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, debug := newAPIServer(t), &lines{}
		old := &likeKT{apiServer: server}
		r := newRig(t, server, "one", func(o *Options) {
			o.Clients = old
			o.Logger = debugLines{o.Logger.(*lines), debug}
		})
		one, two := r.environment("one"), r.environment("two")
		invalid := dynamic.Verdict{
			Ref:    dynamic.Ref{Kind: dynamic.KindSource, Name: "two@kubernetesendpoints"},
			Origin: dynamic.Origin{Resource: two}, Status: dynamic.Quarantined, Reason: "no label",
		}
		web := route("sluice.dev", "web")
		r.store(web, v1alpha1.Status{})
		r.show(provider.State{
			Included: map[string]*dynamic.Configuration{
				"kubernetesendpoints": declaring(one, two), "kubernetescrd": declaring(web),
			},
			Verdicts: []dynamic.Verdict{invalid}, Settled: true,
		})
		r.run()
		r.Publish([]dynamic.Verdict{invalid})
		pass(10 * time.Minute)
		if tries := server.seen("PATCH " + environmentsPath); tries != 1 {
			t.Errorf("%d attempts in ten minutes, want one", tries)
		}
		if told := debug.count("virtualenvironments.env.alibaba.com"); told != 1 || len(r.log.lines) != 0 {
			t.Errorf("%d debug lines, want one, and no other: %v", told, r.log.lines)
		}
		if len(server.events()) != 1 || len(r.current("web").Status.Conditions) != 2 {
			t.Errorf("Events %v, and the status of the route %v", server.events(), r.current("web").Status)
		}
		old.replace()
		pass(2 * compareEvery)
		if got := conditions(r.environmentStatus("two")); len(got) != 1 || len(r.environmentStatus("one").Conditions) != 1 {
			t.Errorf("the conditions with the new definition are %v", got)
		}
	})
}

// An object that is gone has no definition at fault.
func TestAnObjectThatIsGoneKeepsTheStatusOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		current := &likeKT{apiServer: server, replaced: true}
		r := newRig(t, server, "one", func(o *Options) { o.Clients = current })
		gone, one := r.environment("gone"), r.environment("one")
		server.mu.Lock()
		delete(server.objects, environmentsPath+"gone")
		server.mu.Unlock()
		r.show(provider.State{
			Included: map[string]*dynamic.Configuration{"kubernetesendpoints": declaring(gone, one)}, Settled: true,
		})
		r.run()
		pass(time.Second)
		if len(r.environmentStatus("one").Conditions) != 1 {
			t.Error("the status of the other object is not written")
		}
	})
}

// Every kind that has a status is written under its own resource.
func TestEveryKindHasAStatus(t *testing.T) {
	own, environments := "sluice.dev/v1alpha1", virtualenvironment.GroupVersion().String()
	for kind, object := range map[[2]string]metav1.Object{
		{own, v1alpha1.KindIngressRoute}:             &v1alpha1.IngressRoute{},
		{own, v1alpha1.KindMiddleware}:               &v1alpha1.Middleware{},
		{own, v1alpha1.KindTraefikService}:           &v1alpha1.TraefikService{},
		{own, v1alpha1.KindServersTransport}:         &v1alpha1.ServersTransport{},
		{own, v1alpha1.KindTLSOption}:                &v1alpha1.TLSOption{},
		{own, v1alpha1.KindTLSStore}:                 &v1alpha1.TLSStore{},
		{own, v1alpha1.KindIngressRouteTCP}:          &v1alpha1.IngressRouteTCP{},
		{own, v1alpha1.KindIngressRouteUDP}:          &v1alpha1.IngressRouteUDP{},
		{own, v1alpha1.KindMiddlewareTCP}:            &v1alpha1.MiddlewareTCP{},
		{own, v1alpha1.KindServersTransportTCP}:      &v1alpha1.ServersTransportTCP{},
		{environments, virtualenvironment.Kind}:      &virtualenvironment.VirtualEnvironment{},
		{"traefik.io/v1alpha1", "IngressRoute"}:      nil,
		{own, virtualenvironment.Kind}:               nil,
		{environments, v1alpha1.KindTLSOption}:       nil,
		{"env.alibaba.com/v1", "VirtualEnvironment"}: nil,
	} {
		found, known := statusKindOf(&dynamic.Resource{APIVersion: kind[0], Kind: kind[1]})
		if known != (object != nil) || known && (found.resource == "" || statusOf(object) == nil) {
			t.Errorf("%v: the kind is %+v, %v", kind, found, known)
		}
	}
	if statusOf(&metav1.PartialObjectMetadata{}) != nil {
		t.Error("a kind without the subresource has a status")
	}
}
