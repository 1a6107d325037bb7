package ingressnginx_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/static"
)

// ingressOf returns an Ingress with spec.ingressClassName and the annotation of the class, each unless it is "-".
func ingressOf(class, annotation string) *networkingv1.Ingress {
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"}}
	if class != "-" {
		ingress.Spec.IngressClassName = &class
	}
	if annotation != "-" {
		ingress.Annotations = map[string]string{"kubernetes.io/ingress.class": annotation}
	}
	return ingress
}

// classes are IngressClasses with their controllers.
type classes map[string]string

func (c classes) lookup(name string) *networkingv1.IngressClass {
	controller, found := c[name]
	if !found {
		return nil
	}
	return &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: networkingv1.IngressClassSpec{Controller: controller},
	}
}

// TestClaims has the cases of ingress-nginx: a class that is named by the spec decides alone, then the annotation
// does.
func TestClaims(t *testing.T) {
	existing := classes{"nginx": "k8s.io/ingress-nginx", "internal": "k8s.io/ingress-nginx", "other": "example.com/other"}
	borrowed := classes{"nginx": "example.com/other", "internal": "k8s.io/ingress-nginx"}
	byName := func(s *ingressnginx.Selector) { s.ByName = true }
	withoutClass := func(s *ingressnginx.Selector) { s.WithoutClass = true }
	for name, row := range map[string]struct {
		class, annotation string
		existing          classes
		change            func(*ingressnginx.Selector)
		want              bool
	}{
		"class":                               {"nginx", "-", existing, nil, true},
		"another class of the controller":     {"internal", "-", existing, nil, true},
		"class of another controller":         {"other", "-", existing, nil, false},
		"no such class":                       {"none", "-", existing, nil, false},
		"spec over annotation":                {"other", "nginx", existing, nil, false},
		"no such class, with annotation":      {"none", "nginx", existing, nil, false},
		"annotation":                          {"-", "nginx", existing, nil, true},
		"other annotation":                    {"-", "internal", existing, nil, false},
		"annotation in capitals":              {"-", "Nginx", existing, nil, false},
		"neither":                             {"-", "-", existing, nil, false},
		"neither, but wanted":                 {"-", "-", existing, withoutClass, true},
		"empty annotation, without wanted":    {"-", "", existing, withoutClass, false},
		"name of another controller":          {"nginx", "-", borrowed, nil, false},
		"name of another controller, by name": {"nginx", "-", borrowed, byName, true},
		"controller, by name":                 {"internal", "-", borrowed, byName, true},
		"other class name": {
			"-", "public", existing, func(s *ingressnginx.Selector) { s.Class = "public" }, true,
		},
		"classes are not read":             {"nginx", "-", nil, nil, false},
		"classes are not read, annotation": {"other", "nginx", nil, nil, true},
	} {
		config := &static.KubernetesNGINX{}
		config.SetDefaults()
		selector := ingressnginx.NewSelector(config, nil)
		if row.existing != nil {
			selector.Lookup = row.existing.lookup
		}
		if row.change != nil {
			row.change(selector)
		}
		ingress := ingressOf(row.class, row.annotation)
		got, needs := selector.Claims(ingress)
		if got != row.want || selector.Excludes(ingress) != row.want {
			t.Errorf("%s: %t", name, got)
		}
		var want []translation.Source
		if row.class != "-" && row.existing != nil {
			want = []translation.Source{{Kind: "IngressClass", Name: row.class}}
		}
		if diff := cmp.Diff(want, needs); diff != "" {
			t.Errorf("%s: needs %s", name, diff)
		}
	}
}

// TestCatchAll demands that an Ingress with a default backend can be left out.
func TestCatchAll(t *testing.T) {
	ingress := ingressOf("-", "nginx")
	ingress.Spec.DefaultBackend = &networkingv1.IngressBackend{}
	for _, disabled := range []bool{false, true} {
		selector := ingressnginx.Selector{Class: "nginx", DisableCatchAll: disabled}
		if got, _ := selector.Claims(ingress); got == disabled {
			t.Errorf("disabled %t: %t", disabled, got)
		}
		if !selector.Excludes(ingress) {
			t.Errorf("disabled %t: other providers read it", disabled)
		}
	}
}
