package crd

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// checks accept every rule that ends as a call, for TCP with TLS.
type checks struct{}

// CheckRule checks the end.
func (checks) CheckRule(router *dynamic.Router) error {
	if !strings.HasSuffix(router.Rule, ")") {
		return errors.New("not a call")
	}
	return nil
}

// CheckTCPRule checks the end and that there is TLS.
func (checks) CheckTCPRule(router *dynamic.TCPRouter) error {
	if router.TLS == nil || !strings.HasSuffix(router.Rule, ")") {
		return errors.New("not a call, or no TLS")
	}
	return nil
}

// TestARouteKeepsTheNameOfItsRouterForAnInvalidRule wants the name of every other rule to follow from the rule.
func TestARouteKeepsTheNameOfItsRouterForAnInvalidRule(t *testing.T) {
	const a, b, c, wrong = "Path(`/a`)", "Path(`/b`)", "Path(`/c`)", "Path(`/a`"
	step := func(rules ...string) []string { return rules }
	// Every step is a version of the object; want has the rules from which the names of the last one follow.
	tests := map[string]struct {
		steps [][]string
		uids  []types.UID
		want  []string
	}{
		"valid":                    {steps: [][]string{step(a), step(b)}, want: step(b)},
		"invalid":                  {steps: [][]string{step(a), step(wrong)}, want: step(a)},
		"invalid twice":            {steps: [][]string{step(a), step("("), step(wrong)}, want: step(a)},
		"valid again":              {steps: [][]string{step(a), step(wrong), step(b)}, want: step(b)},
		"invalid from the start":   {steps: [][]string{step(wrong)}, want: step(wrong)},
		"among others":             {steps: [][]string{step(a, b, c), step(a, wrong, c)}, want: step(a, b, c)},
		"a new route":              {steps: [][]string{step(a), step(a, wrong)}, want: step(a, wrong)},
		"a new route before":       {steps: [][]string{step(a), step(wrong, a)}, want: step(wrong, a)},
		"two routes with one rule": {steps: [][]string{step(a, a), step(wrong, wrong)}, want: step(a, a)},
		"another object":           {steps: [][]string{step(a), step(wrong)}, uids: []types.UID{"1", "2"}, want: step(wrong)},
		"an object that was gone":  {steps: [][]string{step(a), nil, step(wrong)}, want: step(wrong)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := &translator{last: &lastNames{checks: checks{}, bySource: map[translation.Source]routerNames{}}}
			source := translation.Source{Kind: "IngressRoute", Namespace: "shop", Name: "web"}
			sourceTCP := translation.Source{Kind: "IngressRouteTCP", Namespace: "shop", Name: "web"}
			var got, gotTCP []string
			for i, rules := range test.steps {
				object := &v1alpha1.IngressRoute{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
				objectTCP := &v1alpha1.IngressRouteTCP{ObjectMeta: object.ObjectMeta}
				objectTCP.Spec.TLS = new(v1alpha1.TLSTCP)
				if test.uids != nil {
					object.UID, objectTCP.UID = test.uids[i], test.uids[i]
				}
				for _, rule := range rules {
					object.Spec.Routes = append(object.Spec.Routes, v1alpha1.Route{Match: rule})
					objectTCP.Spec.Routes = append(objectTCP.Spec.Routes, v1alpha1.RouteTCP{Match: rule})
				}
				if rules == nil {
					tr.last.forget(source)
					tr.last.forget(sourceTCP)
					continue
				}
				got = tr.routerNames(source, object, nextWithSame(rules))
				gotTCP = tr.routerNamesTCP(sourceTCP, objectTCP, nextWithSame(rules))
			}
			var want, wantTCP []string
			for _, rule := range test.want {
				want = append(want, routerName("shop", "web", rule))
				wantTCP = append(wantTCP, routerNameTCP("shop", "web", rule))
			}
			if !slices.Equal(got, want) || !slices.Equal(gotTCP, wantTCP) {
				t.Errorf("the names are %q and %q, want %q and %q", got, gotTCP, want, wantTCP)
			}
		})
	}
}
