package ingressnginx

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSurprises has the behaviours of ingress-nginx that its project names surprising.
func TestSurprises(t *testing.T) {
	plain := map[string]string{"ssl-redirect": "false"}
	with := func(name, value string) map[string]string {
		return map[string]string{"ssl-redirect": "false", name: value}
	}
	for name, row := range map[string]struct {
		objects []object
		// answers are by target on the host a.example.com.
		answers map[string]string
	}{
		"expressions of one Ingress are those of the host": {
			[]object{
				{name: "regex", annotations: with("use-regex", "true"), rules: []string{"a.example.com=I:/v[0-9]+"}},
				{name: "exact", age: 1, annotations: plain, rules: []string{"a.example.com=E:/exact"}},
			},
			map[string]string{"/V2/x": "regex /V2/x", "/EXACT/more": "exact /EXACT/more", "/other": "default"},
		},
		"a target makes expressions": {
			[]object{
				{name: "rewrite", annotations: with("rewrite-target", "/"), rules: []string{"a.example.com=P:/app"}},
				{name: "other", age: 1, annotations: plain, rules: []string{"a.example.com=P:/Foo"}},
			},
			map[string]string{"/application": "rewrite /", "/foobar": "other /foobar"},
		},
		"a redirect adds a final slash": {
			[]object{{name: "slash", annotations: plain, rules: []string{"a.example.com=E:/exact/,P:/prefix/,P:/plain"}}},
			map[string]string{
				"/exact": "301 http://a.example.com/exact/", "/prefix?a=b": "301 http://a.example.com/prefix/?a=b",
				"/plain": "slash /plain", "/prefixes": "default",
			},
		},
		"paths are normalised": {
			[]object{{name: "normal", annotations: plain, rules: []string{"a.example.com=P:/admin"}}},
			map[string]string{
				"/x/..%2Fadmin": "normal /x/..%2Fadmin", "/%61dmin/a": "normal /%61dmin/a", "/./admin": "normal /./admin",
				"/Admin": "default",
			},
		},
		"the location of the default backend has annotations": {
			[]object{{
				name: "first", annotations: with("permanent-redirect", "https://new.example.com"),
				rules: []string{"a.example.com=P:/app"},
			}},
			map[string]string{"/": "301 https://new.example.com", "/other": "301 https://new.example.com"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster()
			for _, one := range row.objects {
				cluster.ingresses.put(one.annotated())
				cluster.services.put(&corev1.Service{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: one.name},
					Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
				})
			}
			config := defaultConfig()
			config.WatchIngressWithoutClass = true
			table := serve(t, translated(t, cluster.provider(config)))
			for target, want := range row.answers {
				if got := table.answer(t, "a.example.com", target); got != want {
					t.Errorf("%s is answered %q, want %q", target, got, want)
				}
			}
		})
	}
}

// annotated returns the Ingress with its annotations.
func (o object) annotated() *networkingv1.Ingress {
	made := o.ingress()
	made.Annotations = map[string]string{}
	for name, value := range o.annotations {
		made.Annotations["nginx.ingress.kubernetes.io/"+name] = value
	}
	return made
}

// TestEdits checks that an edit of one Ingress has the others of the host translated again where it concerns them.
func TestEdits(t *testing.T) {
	cluster := newCluster()
	config := defaultConfig()
	config.WatchIngressWithoutClass = true
	plain := object{name: "plain", rules: []string{"a.example.com=P:/foo"}}
	cluster.ingresses.put(plain.annotated())
	for _, name := range []string{"plain", "other"} {
		cluster.services.put(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
	p := cluster.provider(config)
	first := translated(t, p)
	if serve(t, first).answer(t, "a.example.com", "/FOO") != "default" {
		t.Error("a prefix matches without regard to case")
	}
	other := object{
		name: "other", age: 1, annotations: map[string]string{"use-regex": "true"},
		rules: []string{"a.example.com=P:/x"},
	}
	cluster.ingresses.put(other.annotated())
	second, changed := p.update()
	if got := serve(t, second).answer(t, "a.example.com", "/FOO"); !changed || got != "plain /FOO" {
		t.Errorf("on a host with expressions, the answer is %q", got)
	}
	cluster.ingresses.drop("shop", "other")
	third, changed := p.update()
	if got := serve(t, third).answer(t, "a.example.com", "/FOO"); !changed || got != "default" {
		t.Errorf("without expressions, the answer is %q", got)
	}
	if _, changed := p.update(); changed {
		t.Error("an update without an edit reports a change")
	}
}
