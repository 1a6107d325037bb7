package environments

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAnEnvironmentComesAndGoes creates, rolls, scales and deletes an environment while requests with its tag go on:
// each is answered, by it or by its nearest ancestor.
func TestAnEnvironmentComesAndGoes(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"),
		deployment("web", "dev.a", "2"))
	f.Deployed("shop/web-dev-a-x")
	f.becomes("web", "dev.a.b", "web-dev-a")
	end := f.load("dev.a.b")
	feature := deployment("web", "dev.a.b", "1")
	f.Apply(feature)
	f.becomes("web", "dev.a.b", "web-dev-a-b")
	f.expect("web", "dev.a", "web-dev-a")
	f.Rollout("shop/web-dev-a-b-x")
	f.Scale("shop/web-dev-a-b-x", 3)
	f.becomes("web", "dev.a.b", "web-dev-a-b")
	f.Scale("shop/web-dev-a-b-x", 0)
	f.becomes("web", "dev.a.b", "web-dev-a")
	f.Scale("shop/web-dev-a-b-x", 1)
	f.becomes("web", "dev.a.b", "web-dev-a-b")
	f.Delete(feature)
	f.becomes("web", "dev.a.b", "web-dev-a")
	end()
	f.recorded("dev.a", "ancestor")
	f.recorded("dev.a.b", "exact")
}

// load requests the host web with a tag until the returned function is called, and demands that each request is
// answered.
func (f *field) load(tag string) (end func()) {
	var failed, sent atomic.Int64
	stop, sending := make(chan struct{}), sync.WaitGroup{}
	client := f.web.For(f.t)
	sending.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			request := client.Request("GET", "/", nil)
			request.Host = "web"
			request.Header.Set(header, tag)
			response, err := client.Try(request)
			if sent.Add(1); err != nil || response.StatusCode != 200 {
				failed.Add(1)
				f.t.Errorf("%+v, %v", response, err)
			}
		}
	})
	return func() {
		close(stop)
		sending.Wait()
		if failed.Load() > 0 || sent.Load() < 100 {
			f.t.Errorf("%d of %d requests failed", failed.Load(), sent.Load())
		}
	}
}

// TestADivisionComesAndGoes deletes and creates the VirtualEnvironment while requests go on: each is answered.
func TestADivisionComesAndGoes(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"),
		deployment("web", "dev.a", "1"))
	f.Deployed("shop/web-dev-x")
	f.Deployed("shop/web-dev-a-x")
	f.becomes("web", "dev.a", "web-dev-a")
	f.becomes("web", "other", "web-dev")
	end := f.load("other")
	for range 3 {
		f.Delete(virtualEnvironment("demo", likeKT))
		f.until("all pods answer", func() bool { return f.answers("web", "other") == "web-dev-a" })
		f.Apply(virtualEnvironment("demo", likeKT))
		same := 0
		f.until("the default alone answers", func() bool {
			if same++; f.answers("web", "other") != "web-dev" {
				same = 0
			}
			return same >= 10
		})
	}
	end()
}

// recorded demands a line of the access log with a subset and the reason for it.
func (f *field) recorded(subset, reason string) {
	f.t.Helper()
	f.until("a line of the access log with "+subset, func() bool {
		text, err := os.ReadFile(f.records)
		return err == nil && strings.Contains(string(text), `"Environment":"`+subset+`","EnvironmentReason":"`+reason+`"`)
	})
}

// TestWhatIsNotDivided: a Service whose pods have no tags, and one whose pods have no label, stay as they are.
func TestWhatIsNotDivided(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("plain"), deployment("plain", "", "1"),
		service("web"), deployment("web", "dev.a", "1"), deployment("web", "", "1"))
	f.Deployed("shop/plain-x")
	f.Deployed("shop/web-dev-a-x")
	f.Deployed("shop/web-x")
	f.becomes("plain", "dev.a", "plain")
	f.becomes("web", "dev.a", "web-dev-a")
	// There is a default tag, and no pod has it. The pod without the label is in no environment.
	f.becomes("web", "", "503 Service Unavailable")
	f.becomes("web", "other", "503 Service Unavailable")
	f.Apply(deployment("web", "dev", "1"))
	f.becomes("web", "other", "web-dev")
	f.Apply(virtualEnvironment("demo",
		`{envHeader: {name: ali-env-mark}, envLabel: {name: virtual-env}, fallback: reject}`))
	f.becomes("web", "other", "503 Service Unavailable")
	f.becomes("web", "dev.a.x", "web-dev-a")
}

// TestExistence shows the two meanings of an environment whose only pod is not ready.
func TestExistence(t *testing.T) {
	broken := strings.Replace(deployment("web", "dev.a", "1"), "{test.sluice.dev/drain: 5s}",
		`{test.sluice.dev/ready: "false"}`, 1)
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"),
		broken)
	f.Deployed("shop/web-dev-x")
	f.becomes("web", "dev", "web-dev")
	f.becomes("web", "dev.a", "503 Service Unavailable")
	f.Apply(virtualEnvironment("demo",
		`{envHeader: {name: ali-env-mark}, envLabel: {name: virtual-env, defaultSubset: dev}, exists: ready}`))
	f.becomes("web", "dev.a", "web-dev")
}

// TestStrict shows what KT-env does with a tag that no workload of the namespace has.
func TestStrict(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), service("other"),
		deployment("web", "dev", "1"), deployment("web", "dev.a", "1"), deployment("other", "dev.a.b", "1"))
	for _, path := range []string{"shop/web-dev-x", "shop/web-dev-a-x", "shop/other-dev-a-b-x"} {
		f.Deployed(path)
	}
	f.becomes("web", "dev.a.c", "web-dev-a")
	f.Apply(virtualEnvironment("demo",
		`{envHeader: {name: ali-env-mark}, envLabel: {name: virtual-env, defaultSubset: dev}, strict: true}`))
	f.becomes("web", "dev.a.c", "web-dev")
	f.expect("web", "dev.a.b", "web-dev-a")
	f.Apply(deployment("other", "dev.a.c", "1"))
	f.becomes("web", "dev.a.c", "web-dev-a")
}

// TestTwoObjects: the oldest VirtualEnvironment of a namespace applies, and the other one stays as it is.
func TestTwoObjects(t *testing.T) {
	other := virtualEnvironment("another",
		`{envHeader: {name: x-other}, envLabel: {name: virtual-env, defaultSubset: dev}}`)
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"),
		deployment("web", "dev.a", "1"))
	f.Deployed("shop/web-dev-x")
	f.becomes("web", "dev.a", "web-dev-a")
	created := f.Get("VirtualEnvironment", "shop/demo").GetCreationTimestamp().Unix()
	f.until("the next second", func() bool { return f.clock() > created })
	f.Apply(other)
	f.warned("another", "is not applied, since VirtualEnvironment shop/demo of the same namespace is older")
	f.accepted("demo", "True Accepted")
	f.accepted("another", "False ConflictingName")
	f.expect("web", "dev.a", "web-dev-a")
	f.Delete(virtualEnvironment("demo", likeKT))
	f.becomes("web", "dev.a", "web-dev") // That header is none any more.
	f.accepted("another", "True Accepted")
	if f.Get("VirtualEnvironment", "shop/another") == nil {
		t.Error("the second object is gone")
	}
}

// clock returns the time of the API server.
func (f *field) clock() int64 {
	made := f.Apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: clock, namespace: shop}\n")
	f.Delete("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: clock, namespace: shop}\n")
	return made[0].GetCreationTimestamp().Unix()
}

// warned waits for an Event on a VirtualEnvironment.
func (f *field) warned(name, message string) {
	f.t.Helper()
	f.told("VirtualEnvironment", name, message)
}

// told waits for an Event on an object of the namespace shop.
func (f *field) told(kind, name, message string) {
	f.t.Helper()
	f.UntilAll("Event", "shop", "an Event on "+name+": "+message, func(events []*unstructured.Unstructured) bool {
		for _, event := range events {
			about, _, _ := unstructured.NestedStringMap(event.Object, "involvedObject")
			text, _ := event.Object["message"].(string)
			if about["kind"] == kind && about["name"] == name && strings.Contains(text, message) {
				return true
			}
		}
		return false
	})
}

// accepted waits for the condition Accepted of a VirtualEnvironment with a status and a reason, about its present
// specification.
func (f *field) accepted(name, want string) {
	f.t.Helper()
	f.Until("VirtualEnvironment", "shop/"+name, "Accepted is "+want, func(object *unstructured.Unstructured) bool {
		if object == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		if len(conditions) != 1 {
			return false
		}
		one, _ := conditions[0].(map[string]any)
		return one["type"] == "Accepted" && one["observedGeneration"] == object.GetGeneration() &&
			fmt.Sprint(one["status"], " ", one["reason"]) == want
	})
}

// TestRulesOfServices: the annotation of KT-env on a Service is answered with an Event on it, and with another one when
// it is gone.
func TestRulesOfServices(t *testing.T) {
	ruled := strings.Replace(service("web"), "metadata: {name: web, namespace: shop}",
		`metadata: {name: web, namespace: shop, annotations: {kt-virtual-environment/rule: '{"timeout": "3s"}'}}`, 1)
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), ruled, deployment("web", "dev", "1"))
	f.told("Service", "web", "kt-virtual-environment/rule has no effect")
	f.Apply(service("web"))
	f.told("Service", "web", "everything that it declares is in use")
}

// TestTheDefinitionOfKTEnv has no status: Events and environments are the same, and nothing is told but to who looks
// for it.
func TestTheDefinitionOfKTEnv(t *testing.T) {
	older, found := strings.CutSuffix(file(t, definition), "      subresources:\n        status: {}\n")
	if !found {
		t.Fatal("the definition does not end with its subresource")
	}
	f := prepare(t, false, older, namespace, virtualEnvironment("demo", likeKT), service("web"),
		deployment("web", "dev", "1"), deployment("web", "dev.a", "1"))
	f.Deployed("shop/web-dev-x")
	f.becomes("web", "dev.a", "web-dev-a")
	const alias = "aliases: [{name: x, pattern: '['}]"
	f.Apply(virtualEnvironment("demo", strings.Replace(likeKT, "autoInject: true", alias, 1)))
	f.warned("demo", "spec.envHeader.aliases[0] is left out")
	const line = "the definition has no subresource status"
	f.until("a line says why there is no status", func() bool { return strings.Contains(f.sluice.Log.String(), line) })
	if n := strings.Count(f.sluice.Log.String(), line); n != 1 {
		t.Errorf("%d lines say that there is no status", n)
	}
}

// TestWrongObjects: what is wrong in an object is reported on it, and the rest applies.
func TestWrongObjects(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"),
		deployment("web", "dev.a", "1"))
	f.Deployed("shop/web-dev-x")
	f.becomes("web", "dev.a", "web-dev-a")
	if _, err := f.TryApply(virtualEnvironment("splitter", `{envLabel: {splitter: ".."}}`)); err == nil {
		t.Error("the API server accepts a splitter of two characters")
	}
	f.Apply(virtualEnvironment("demo", `{envHeader: {name: ali-env-mark, aliases: [{name: cookie, pattern: "env=["}, `+
		`{name: x-alias}, {name: x-twice, pattern: "(@)(@)"}]}, envLabel: {name: virtual-env, defaultSubset: dev}}`))
	f.warned("demo", "spec.envHeader.aliases[0] is left out")
	f.warned("demo", "spec.envHeader.aliases[2] is left out")
	f.accepted("demo", "True InvalidOption")
	f.becomes("web", "dev.a", "web-dev-a")
	request := f.web.Request("GET", "/", nil)
	request.Host = "web"
	request.Header.Set("X-Alias", "dev.a")
	if got := workload(f.web.Send(request).Header.Get("X-Pod")); got != "web-dev-a" {
		t.Errorf("the alias that is right leads to %s", got)
	}
	for _, spec := range []string{`{envLabel: {name: "not a label"}}`, `{envHeader: {name: "a b"}}`} {
		if _, err := f.TryApply(virtualEnvironment("names", spec)); err == nil {
			t.Errorf("the API server accepts %s", spec)
		}
	}
	f.Apply(virtualEnvironment("demo", likeKT))
	f.until("no verdict is left", func() bool { return len(f.sluice.Readiness().Verdicts) == 0 })
	f.accepted("demo", "True Accepted")
}

// TestTheDefinitionComesLate and goes again, with its objects.
func TestTheDefinitionComesLate(t *testing.T) {
	f := prepare(t, false, namespace, service("web"), deployment("web", "dev", "1"), deployment("web", "dev.a", "1"))
	f.Deployed("shop/web-dev-x")
	f.Deployed("shop/web-dev-a-x")
	f.Endpoints("shop/web", 2)
	both := func() bool {
		seen := map[string]bool{}
		for range 10 {
			seen[f.answers("web", "dev.a")] = true
		}
		return seen["web-dev"] && seen["web-dev-a"]
	}
	f.until("all pods answer", both)
	f.Apply(file(t, definition))
	f.Apply(virtualEnvironment("demo", likeKT))
	f.becomes("web", "", "web-dev")
	f.until("the tag selects its pod alone", func() bool { return !both() })
	f.expect("web", "dev.a", "web-dev-a")
	f.Delete(file(t, definition))
	f.until("all pods answer again", both)
}

// TestIngresses: a Service behind an Ingress is divided too.
func TestIngresses(t *testing.T) {
	f := prepare(t, true, namespace, virtualEnvironment("demo", likeKT), service("web"), deployment("web", "dev", "1"),
		deployment("web", "dev.a", "1"), `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop}
spec:
  rules:
    - host: by-ingress
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`)
	f.Deployed("shop/web-dev-x")
	f.Deployed("shop/web-dev-a-x")
	f.becomes("by-ingress", "dev.a.b", "web-dev-a")
	f.becomes("by-ingress", "x", "web-dev")
}
