package endpoint_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// ruled is a Service with the annotation of KT-env that changes routes.
func ruled(name string) *corev1.Service {
	object := service(name)
	object.UID = "uid-of-service"
	object.Annotations = map[string]string{"kt-virtual-environment/rule": `{"timeout": "3s"}`}
	return object
}

// TestRulesOfServices demands a verdict on a Service with a rule of KT-env, as long as a VirtualEnvironment applies.
func TestRulesOfServices(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Serve(podKind, "Pod")
	server.Serve(environmentKind, virtualenvironment.Kind)
	server.Put(services, ruled("web"), ruled("another"), service("plain"))
	server.Put(sliceKind, withPods("p1"))
	server.Put(podKind, podOf("p1", "dev"))
	d := divide(t, server)
	d.until("no VirtualEnvironment", func(sets map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return sets["k/shop/web:80"] == "p1" && len(verdicts) == 0
	})
	server.Put(environmentKind, object("demo", 1, virtualenvironment.Spec{}))
	d.until("a verdict on each", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 2 && verdicts[0].Origin.Resource.Name == "another" &&
			verdicts[1].Origin.Resource.Name == "web"
	})
	d.mu.Lock()
	got := d.verdicts[1]
	d.mu.Unlock()
	want := dynamic.Resource{APIVersion: "v1", Kind: "Service", Namespace: "shop", Name: "web", UID: "uid-of-service"}
	if *got.Origin.Resource != want || got.Status != dynamic.Degraded || got.Code != dynamic.CodeIneffectiveOption ||
		!strings.Contains(got.Reason, "kt-virtual-environment/rule has no effect") {
		t.Errorf("the verdict is %+v on %+v", got, got.Origin.Resource)
	}
	if unknown := want; !d.provider.Exists(&want) {
		t.Error("the Service does not exist")
	} else if unknown.UID = "x"; d.provider.Exists(&unknown) {
		t.Error("a Service with another uid exists")
	}
	plain := ruled("web")
	plain.Annotations = nil
	server.Put(services, plain)
	d.until("one has none any more", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 1 && verdicts[0].Origin.Resource.Name == "another"
	})
	server.Delete(services, "shop", "another")
	d.until("the other one is gone", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 0
	})
	server.Put(services, ruled("web"))
	d.until("it has one again", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 1
	})
	server.Delete(environmentKind, "shop", "demo")
	d.until("the VirtualEnvironment is gone", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 0
	})
}
