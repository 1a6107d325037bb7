package status_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
)

const controller = gatewayv1.GatewayController("sluice.dev/gateway-controller")

var (
	noon   = time.Date(2030, 1, 2, 12, 0, 0, 0, time.UTC)
	before = `"lastTransitionTime":"2029-01-01T00:00:00Z"`
	now    = `"lastTransitionTime":"2030-01-02T12:00:00Z"`
)

func condition(kind string, value bool, reason string) metav1.Condition {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

func key(kind status.Kind, name string) status.Key {
	return status.Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}}
}

func parent(name string, conditions ...metav1.Condition) gatewayv1.RouteParentStatus {
	return gatewayv1.RouteParentStatus{
		ParentRef:      gatewayv1.ParentReference{Name: gatewayv1.ObjectName(name)},
		ControllerName: controller, Conditions: conditions,
	}
}

func route(parents ...gatewayv1.RouteParentStatus) *status.Desired {
	return &status.Desired{Key: key(status.HTTPRoute, "web"), UID: "u1", Generation: 3, Parents: parents}
}

// live returns an object with a status.
func live(content string) []byte {
	return []byte(`{"metadata":{"uid":"u1","resourceVersion":"7"},"status":` + content + `}`)
}

// accepted returns a condition as it is stored.
func accepted(status string, generation int, transition string) string {
	return fmt.Sprintf(`{"type":"Accepted","status":%q,"observedGeneration":%d,%s,"reason":"Accepted","message":""}`,
		status, generation, transition)
}

func TestMerge(t *testing.T) {
	ok := condition("Accepted", true, "Accepted")
	foreign := `{"zeta":"new field","parentRef":{"name":"theirs"},"controllerName":"other.example/x","conditions":[]}`
	ours := func(name, conditions string) string {
		return `{"conditions":[` + conditions + `],"controllerName":"sluice.dev/gateway-controller",` +
			`"parentRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"` + name + `"}}`
	}
	custom := `{"type":"example.org/Audited","status":"True","reason":"X","message":"","lastTransitionTime":null}`
	gateway := &status.Desired{
		Key: key(status.Gateway, "edge"), UID: "u1", Generation: 3, Gateway: &gatewayv1.GatewayStatus{
			Addresses:  []gatewayv1.GatewayStatusAddress{{Value: "192.0.2.1"}},
			Conditions: []metav1.Condition{ok},
			Listeners: []gatewayv1.ListenerStatus{{
				Name: "http", AttachedRoutes: 2, Conditions: []metav1.Condition{ok},
				SupportedKinds: []gatewayv1.RouteGroupKind{{Kind: "HTTPRoute"}},
			}},
		},
	}
	for _, test := range []struct {
		name    string
		desired *status.Desired
		live    string
		patch   string
		check   func(status.Merged) bool
	}{
		{
			"new", route(parent("edge", ok)), `{}`,
			`{"parents":[` + ours("edge", accepted("True", 3, now)) + `]}`, nil,
		},
		{"equal", route(parent("edge", ok)), `{"parents":[` + ours("edge", accepted("True", 3, before)) + `]}`, "", nil},
		{
			"the time of transition stays", route(parent("edge", ok)),
			`{"parents":[` + ours("edge", accepted("True", 2, before)) + `]}`,
			`{"parents":[` + ours("edge", accepted("True", 3, before)) + `]}`, nil,
		},
		{
			"another status", route(parent("edge", ok)),
			`{"parents":[` + ours("edge", accepted("False", 2, before)) + `]}`,
			`{"parents":[` + ours("edge", accepted("True", 3, now)) + `]}`, nil,
		},
		{
			"others stay, stale ones go", route(parent("edge", ok)),
			`{"parents":[` + ours("gone", accepted("True", 3, before)) + `,` + foreign + `,` +
				ours("edge", custom+`,`+accepted("True", 3, before)) + `]}`,
			`{"parents":[` + foreign + `,` + ours("edge", custom+`,`+accepted("True", 3, before)) + `]}`,
			func(m status.Merged) bool { return m.Foreign },
		},
		{"nothing of ours", route(), `{"parents":[` + foreign + `]}`, "", nil},
		{"the last one goes", route(), `{"parents":[` + ours("edge", "") + `]}`, `{"parents":[]}`, nil},
		{"no status", route(), `{}`, "", nil},
		{
			"a newer generation", route(parent("edge", ok)), `{"parents":[` + ours("edge", accepted("True", 4, before)) + `]}`,
			"", func(m status.Merged) bool { return m.Stale },
		},
		{
			"a newer generation of a stale entry", route(),
			`{"parents":[` + ours("edge", accepted("True", 4, before)) + `]}`, "",
			func(m status.Merged) bool { return m.Stale },
		},
		{
			"a Gateway", gateway,
			`{"conditions":[` + custom + `,{"type":"Programmed","status":"Unknown","reason":"Pending","message":"",` +
				before + `}],"listeners":[{"name":"old","attachedRoutes":1,"conditions":[]}]}`,
			`{"addresses":[{"type":"IPAddress","value":"192.0.2.1"}],` +
				`"conditions":[` + custom + `,` + accepted("True", 3, now) + `],"listeners":[{"attachedRoutes":2,"conditions":[` +
				accepted("True", 3, now) + `],"name":"http","supportedKinds":[{"group":"gateway.networking.k8s.io",` +
				`"kind":"HTTPRoute"}]}]}`, nil,
		},
		{
			"an equal Gateway", gateway,
			`{"addresses":[{"value":"192.0.2.1","type":"IPAddress"}],"conditions":[` + accepted("True", 3, before) + `],` +
				`"listeners":[{"name":"http","attachedRoutes":2,"new":1,"supportedKinds":[{"kind":"HTTPRoute",` +
				`"group":"gateway.networking.k8s.io"}],"conditions":[` + accepted("True", 3, before) + `]}],"future":{}}`,
			"", nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			merged, err := status.Merge(live(test.live), test.desired, controller, noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.patch, string(merged.Patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if test.check != nil && !test.check(merged) {
				t.Errorf("%+v", merged)
			}
		})
	}
}

// TestMergeOfAnotherObject proves that an object that was created anew under the name gets no status of the old one.
func TestMergeOfAnotherObject(t *testing.T) {
	desired := route(parent("edge"))
	desired.UID = "u0"
	merged, err := status.Merge(live(`{}`), desired, controller, noon)
	if err != nil || !merged.Stale || merged.Patch != nil {
		t.Errorf("%+v, %v", merged, err)
	}
}

// TestMergeHasLimits proves that no more entries are written than the API takes, and that those of others stay.
func TestMergeHasLimits(t *testing.T) {
	for kind, most := range map[status.Kind]int{status.HTTPRoute: 32, status.BackendTLSPolicy: 16} {
		desired := &status.Desired{Key: key(kind, "web"), UID: "u1", Generation: 3}
		for i := range most + 5 {
			one := parent(fmt.Sprint("edge-", i))
			desired.Parents = append(desired.Parents, one)
			desired.Ancestors = append(desired.Ancestors, gatewayv1.PolicyAncestorStatus{
				AncestorRef: one.ParentRef, ControllerName: one.ControllerName,
			})
		}
		name, ref := "parents", "parentRef"
		if kind == status.BackendTLSPolicy {
			name, ref = "ancestors", "ancestorRef"
		}
		foreign := `{"controllerName":"other.example/x","` + ref + `":{"name":"edge-1"}}`
		merged, err := status.Merge(live(`{"`+name+`":[`+foreign+`]}`), desired, controller, noon)
		if err != nil {
			t.Fatal(err)
		}
		var patch map[string][]json.RawMessage
		if err := json.Unmarshal(merged.Patch, &patch); err != nil {
			t.Fatal(err)
		}
		if got := patch[name]; len(got) != most || string(got[0]) != foreign || merged.Dropped != 6 {
			t.Errorf("%s: %d entries, %d without room, the first %s", kind, len(got), merged.Dropped, got[0])
		}
	}
}

// TestForeignEntriesKeepTheirBytes merges random statuses into random entries of others.
func TestForeignEntriesKeepTheirBytes(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		var elements, foreign []string
		for range random.IntN(8) {
			element, theirs := randomEntry(random)
			elements = append(elements, element)
			if theirs {
				foreign = append(foreign, element)
			}
		}
		desired := route()
		for i := range random.IntN(5) {
			ok := condition("Accepted", random.IntN(2) == 0, "Accepted")
			desired.Parents = append(desired.Parents, parent(fmt.Sprint("g", i), ok))
		}
		content := `{"parents":[` + strings.Join(elements, ",") + `]}`
		merged, err := status.Merge(live(content), desired, controller, noon)
		if err != nil {
			t.Fatal(err)
		}
		if merged.Patch == nil {
			continue
		}
		var patch struct{ Parents []json.RawMessage }
		if err := json.Unmarshal(merged.Patch, &patch); err != nil {
			t.Fatal(err)
		}
		var kept []string
		own := 0
		for _, element := range patch.Parents {
			if strings.Contains(string(element), string(controller)) {
				own++
				continue
			}
			kept = append(kept, string(element))
		}
		if diff := cmp.Diff(foreign, kept); diff != "" {
			t.Fatalf("seed %d: entries of others (-want +got):\n%s", seed, diff)
		}
		if own != len(desired.Parents) {
			t.Fatalf("seed %d: %d own entries, want %d", seed, own, len(desired.Parents))
		}
		again, err := status.Merge(live(string(merged.Patch)), desired, controller, noon.Add(time.Hour))
		if err != nil || again.Patch != nil {
			t.Fatalf("seed %d: merging again gives %s, %v", seed, again.Patch, err)
		}
	}
}

// randomEntry returns an entry of a status, and whether it is one of another controller.
func randomEntry(random *rand.Rand) (entry string, foreign bool) {
	owner := string(controller)
	if foreign = random.IntN(3) > 0; foreign {
		owner = fmt.Sprintf("other-%d.example/<&>\\u00e9", random.IntN(3))
	}
	fields := []string{
		fmt.Sprintf(`"controllerName":"%s"`, owner),
		fmt.Sprintf(`"parentRef":{"name":"g%d","port":%d}`, random.IntN(5), 1+random.IntN(2)),
		`"conditions":[` + accepted("True", random.IntN(3), before) + `]`,
		fmt.Sprintf(`"future":[1.0,1e3,%d,null,{"b":1,"a":"\/"}]`, random.IntN(100)),
	}
	random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	return "{" + strings.Join(fields, ",") + "}", foreign
}

// FuzzMerge proves that no live object breaks the merge, and that a merged status needs no further write.
func FuzzMerge(f *testing.F) {
	f.Add(`{"parents":[{"controllerName":"a","parentRef":{"name":"b"}}]}`)
	f.Add(`{"parents":null,"conditions":[{}]}`)
	f.Fuzz(func(t *testing.T, content string) {
		desired := route(parent("edge", condition("Accepted", true, "Accepted")))
		merged, err := status.Merge(live(content), desired, controller, noon)
		if err != nil || merged.Patch == nil || merged.Dropped > 0 {
			return
		}
		again, err := status.Merge(live(string(merged.Patch)), desired, controller, noon.Add(time.Hour))
		if err != nil || again.Patch != nil {
			t.Errorf("merging %s again gives %s, %v", merged.Patch, again.Patch, err)
		}
	})
}
