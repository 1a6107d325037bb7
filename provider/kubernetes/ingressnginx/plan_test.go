package ingressnginx

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// reader reads annotations of every risk, without other settings of a ConfigMap.
var reader = annotation.NewReader(riskiest())

func riskiest() *annotation.Settings {
	settings := annotation.DefaultSettings()
	settings.Risk = annotation.Critical
	return settings
}

// object describes an Ingress: its name, how many seconds it is younger than others, annotations, hosts with paths,
// the Services of which are named after it.
type object struct {
	name        string
	age         int
	annotations map[string]string
	// rules are HOST=TYPE:PATH,...; a host without = has no paths. The types are E, P and I.
	rules    []string
	tls      []networkingv1.IngressTLS
	fallback bool
}

func backendOf(name string) networkingv1.IngressBackend {
	return networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
		Name: name, Port: networkingv1.ServiceBackendPort{Number: 80},
	}}
}

func (o object) ingress() *networkingv1.Ingress {
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: o.name, CreationTimestamp: metav1.NewTime(time.Unix(1000+int64(o.age), 0)),
	}}
	ingress.Spec.TLS = o.tls
	if o.fallback {
		backend := backendOf(o.name)
		ingress.Spec.DefaultBackend = &backend
	}
	for _, text := range o.rules {
		host, paths, given := strings.Cut(text, "=")
		rule := networkingv1.IngressRule{Host: host}
		if given {
			rule.HTTP = &networkingv1.HTTPIngressRuleValue{}
			for item := range strings.SplitSeq(paths, ",") {
				kind, path, _ := strings.Cut(item, ":")
				kinds := map[string]networkingv1.PathType{
					"E": networkingv1.PathTypeExact, "P": networkingv1.PathTypePrefix,
					"I": networkingv1.PathTypeImplementationSpecific,
				}
				found := networkingv1.HTTPIngressPath{Path: path, Backend: backendOf(o.name)}
				if kind, known := kinds[kind]; known {
					found.PathType = &kind
				}
				rule.HTTP.Paths = append(rule.HTTP.Paths, found)
			}
		}
		ingress.Spec.Rules = append(ingress.Spec.Rules, rule)
	}
	return ingress
}

func (o object) member() member {
	annotations := map[string]string{}
	for name, value := range o.annotations {
		annotations[annotation.Prefix+name] = value
	}
	options, _ := reader.Read("shop", annotations)
	return member{o.ingress(), options}
}

// neighbours are the other hosts; true for those with a certificate.
type neighbours map[string]bool

func (n neighbours) exists(host string) bool {
	_, found := n[host]
	return found
}

// aliased has aliases among the other hosts, with a mark.
func (n neighbours) aliased(alias string) bool { return n.exists("alias " + alias) }

func (n neighbours) certified(host string) bool { return n[host] }

func planOf(host string, others neighbours, objects ...object) *serverPlan {
	var members []member
	for _, object := range objects {
		members = append(members, object.member())
	}
	slices.SortFunc(members, func(a, b member) int { return Compare(a.ingress, b.ingress) })
	return planServer(host, members, others)
}

// shown writes locations as nginx would: their owner, and = for exact ones, ~ for expressions, > where they are
// rewritten, ! for the one that is not declared.
func shown(plan *serverPlan) []string {
	var out []string
	for _, location := range plan.Locations {
		mark := ""
		switch {
		case plan.Regex:
			mark = "~"
		case location.Exact:
			mark = "="
		}
		if location.Rewrite {
			mark += ">"
		}
		if location.Rule < 0 {
			mark += "!"
		}
		out = append(out, location.Owner.Name+" "+mark+location.Name)
	}
	return out
}

func TestLocations(t *testing.T) {
	rewrite := func(target string) map[string]string { return map[string]string{"rewrite-target": target} }
	for name, row := range map[string]struct {
		host    string
		objects []object
		want    []string
	}{
		"nothing declared": {"a", []object{{name: "x", rules: []string{"a"}}}, []string{"x !/"}},
		"no server":        {anyHost, nil, []string{" !/"}},
		"paths": {
			"a",
			[]object{{name: "x", rules: []string{"a=P:/foo,E:/bar,I:/foo/bar,:,P:/baz/"}}},
			[]string{"x /foo/bar/", "x =/foo/bar", "x /baz/", "x =/baz/", "x /foo/", "x =/foo", "x =/bar", "x /"},
		},
		"exact beside a prefix": {
			"a",
			[]object{{name: "x", rules: []string{"a=P:/foo"}}, {name: "y", age: 1, rules: []string{"a=E:/foo"}}},
			[]string{"x /foo/", "y =/foo", "x !/"},
		},
		"the oldest has a path": {
			"a",
			[]object{
				{name: "new", age: 2, rules: []string{"a=P:/,P:/foo"}}, {name: "old", age: 1, rules: []string{"a=P:/foo"}},
			},
			[]string{"old /foo/", "old =/foo", "new /"},
		},
		"of one second, the last name is first": {
			"a",
			[]object{{name: "a", rules: []string{"a=P:/foo"}}, {name: "b", rules: []string{"a=I:/foo"}}},
			[]string{"b /foo/", "b =/foo", "b !/"},
		},
		"exact root": {
			"a",
			[]object{{name: "x", rules: []string{"a=E:/"}}, {name: "y", age: 1, rules: []string{"a=E:/"}}},
			[]string{"x !/", "x =/"},
		},
		"expressions of one make all": {
			"a",
			[]object{
				{name: "x", rules: []string{"a=P:/foo,E:/bar"}},
				{name: "y", age: 1, annotations: map[string]string{"use-regex": "true"}, rules: []string{"a=I:/fo[a-z]/(.*)"}},
			},
			[]string{"y ~/fo[a-z]/(.*)", "x ~/foo/", "x ~/foo", "x ~/bar", "x ~!/"},
		},
		"longest expression first, then descending": {
			"a",
			[]object{
				{name: "x", annotations: map[string]string{"use-regex": "true"}, rules: []string{"a=P:/a.,P:/b,P:/a/,P:/ab"}},
			},
			[]string{"x ~/ab", "x ~/a/", "x ~/a.", "x ~/b", "x ~!/"},
		},
		"rewritten": {
			"a",
			[]object{{name: "x", annotations: rewrite("/$1"), rules: []string{"a=P:/foo/(.*)"}}},
			[]string{"x ~>/foo/(.*)", "x ~>!/"},
		},
		"rewritten to itself": {
			"a",
			[]object{{name: "x", annotations: rewrite("/foo"), rules: []string{"a=P:/foo,P:/"}}},
			[]string{"x ~>/foo/", "x ~/foo", "x ~>/"},
		},
		"root rewritten to itself": {
			"a", []object{{name: "x", annotations: rewrite("/"), rules: []string{"a=P:/"}}}, []string{"x /"},
		},
		"canaries have no location": {
			"a",
			[]object{
				{name: "x", annotations: map[string]string{"canary": "true", "use-regex": "true"}, rules: []string{"a=P:/foo"}},
				{name: "y", age: 1, rules: []string{"a=P:/foo"}},
			},
			[]string{"y /foo/", "y =/foo", "y !/"},
		},
		"default backend with rules": {
			"a", []object{{name: "x", fallback: true, rules: []string{"a=P:/foo"}}}, []string{"x /foo/", "x =/foo", "x !/"},
		},
		"default backend without rules": {
			anyHost,
			[]object{
				{name: "x", fallback: true, annotations: rewrite("/x")},
				{name: "y", age: 1, fallback: true},
				{name: "z", age: 2, rules: []string{"=P:/,P:/foo"}},
			},
			[]string{"z /foo/", "z =/foo", "x !/"},
		},
		"any host has no first": {
			anyHost,
			[]object{{name: "x", annotations: rewrite("/x"), rules: []string{"=E:/foo"}}},
			[]string{"x ~>/foo", " ~!/"},
		},
		"a prefix with and without slash": {
			"a",
			[]object{{name: "x", rules: []string{"a=P:/foo"}}, {name: "y", age: 1, rules: []string{"a=P:/foo/"}}},
			[]string{"x /foo/", "x =/foo", "x !/"},
		},
		"a prefix with and without slash, the longer one first": {
			"a",
			[]object{{name: "x", age: 1, rules: []string{"a=P:/foo"}}, {name: "y", rules: []string{"a=P:/foo/"}}},
			[]string{"y /foo/", "y =/foo/", "x =/foo", "y !/"},
		},
		"a prefix with and without slash of one Ingress": {
			"a",
			[]object{{name: "x", rules: []string{"a=P:/foo,P:/foo/"}}},
			[]string{"x /foo/", "x =/foo/", "x =/foo", "x !/"},
		},
		"a prefix with and without slash among expressions": {
			"a",
			[]object{
				{name: "x", rules: []string{"a=P:/foo"}, annotations: map[string]string{"use-regex": "true"}},
				{name: "y", age: 1, rules: []string{"a=P:/foo/"}},
			},
			[]string{"y ~/foo/", "x ~/foo", "x ~!/"},
		},
		"two rules for a host": {
			"a",
			[]object{{name: "x", rules: []string{"a=E:/foo", "b=E:/no", "a=E:/bar"}}},
			[]string{"x =/foo", "x =/bar", "x !/"},
		},
	} {
		if diff := cmp.Diff(row.want, shown(planOf(row.host, nil, row.objects...))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestCanariesAloneAreNoServer demands that requests to such a host reach the server of any host.
func TestCanariesAloneAreNoServer(t *testing.T) {
	canary := object{name: "x", annotations: map[string]string{"canary": "true"}, rules: []string{"a=P:/"}}
	if plan := planOf("a", nil, canary); plan != nil {
		t.Errorf("%+v", plan)
	}
}

func TestServers(t *testing.T) {
	first := object{name: "first", rules: []string{"a.example.com=P:/"}}
	second := object{name: "second", age: 1, rules: []string{"a.example.com=P:/b"}}
	with := func(object object, annotations map[string]string) object {
		object.annotations = annotations
		return object
	}
	const host = "a.example.com"
	www := map[string]string{"from-to-www-redirect": "true"}

	plan := planOf(host, neighbours{"c": false, "www.a.example.com": false},
		with(first, www),
		with(
			second,
			map[string]string{
				"server-alias": "c,b," + host, "app-root": "/second", "ssl-passthrough": "true", "ssl-ciphers": "HIGH",
			},
		))
	if diff := cmp.Diff([]string{"b"}, plan.Aliases); diff != "" || plan.Twin != "" || plan.AppRoot != "/second" ||
		plan.Passthrough || plan.Ciphers != "HIGH" || plan.TLS != nil || plan.Secured {
		t.Errorf("%s%+v", diff, plan)
	}
	// The first Ingress of a host alone decides about ssl-passthrough.
	passed := with(first, map[string]string{"ssl-passthrough": "true"})
	if plan := planOf(host, nil, passed, second); !plan.Passthrough {
		t.Errorf("%+v", plan)
	}
	// A name with a wildcard that stands for the host prevents it, of hosts one label and of aliases any number.
	for name, want := range map[string]string{
		"*.example.com": "*.example.com", "*.com": "", "*.a.example.com": "", "alias *.example.com": "*.example.com",
		"alias *.com": "*.com", "alias *.a.example.com": "", "alias *.example.net": "",
	} {
		plan := planOf(host, neighbours{name: false}, passed)
		if plan.Wildcard != want || plan.Passthrough != (want == "") {
			t.Errorf("%s: %q, %v", name, plan.Wildcard, plan.Passthrough)
		}
	}
	own := with(first, map[string]string{"ssl-passthrough": "true", "server-alias": "*.Example.com"})
	if plan := planOf(host, nil, own); plan.Wildcard != "*.example.com" || plan.Passthrough {
		t.Errorf("%+v", plan)
	}
	if plan := planOf(host, nil, with(first, www)); plan.Twin != "www."+host {
		t.Errorf("twin %q", plan.Twin)
	}
	plan = planOf("www.b", nil, with(object{name: "x", rules: []string{"www.b=P:/"}}, www))
	if plan.Twin != "b" {
		t.Errorf("twin %q", plan.Twin)
	}
	// The location that is not declared has no twin.
	if plan := planOf(host, nil, with(object{name: "x", rules: []string{host}}, www)); plan.Twin != "" {
		t.Errorf("twin %q", plan.Twin)
	}
	// The longest path decides about app-root.
	plan = planOf(host, nil, with(first, map[string]string{"app-root": "/first", "server-alias": "x"}),
		with(second, map[string]string{"app-root": "/second", "server-alias": "y"}))
	if plan.AppRoot != "/second" || !slices.Equal(plan.Aliases, []string{"x"}) {
		t.Errorf("app-root %q, aliases %q", plan.AppRoot, plan.Aliases)
	}
}

func TestServersTLS(t *testing.T) {
	const host = "a.example.com"
	first := object{name: "first", rules: []string{host + "=P:/"}}
	named := object{name: "named", age: 1, rules: []string{host + "=P:/b"}, tls: []networkingv1.IngressTLS{
		{Hosts: []string{"b.example.com"}, SecretName: "b"}, {Hosts: []string{"A.example.com"}, SecretName: "a"},
	}}
	guessed := object{
		name: "guessed", age: 2, rules: []string{host + "=P:/c"},
		tls: []networkingv1.IngressTLS{{SecretName: "c"}, {}},
	}
	if plan := planOf(host, nil, first, named, guessed); !plan.Secured || !cmp.Equal(plan.TLS, &tlsPlan{
		Owner: nameOf(named.ingress()), Named: true, Secret: "a",
	}) {
		t.Errorf("%+v", plan.TLS)
	}
	want := &tlsPlan{Owner: nameOf(guessed.ingress()), Candidates: []string{"c"}}
	if plan := planOf(host, nil, first, guessed); !cmp.Equal(plan.TLS, want) {
		t.Errorf("%+v", plan.TLS)
	}
	if plan := planOf(host, neighbours{"*.example.com": true}, first); plan.TLS != nil || !plan.Secured {
		t.Errorf("below a wildcard with a certificate: %+v", plan)
	}

	client := func(name, secret string, age int, canary string) object {
		return object{
			name: name, age: age, rules: []string{host + "=P:/"},
			annotations: map[string]string{"auth-tls-secret": secret, "proxy-ssl-secret": "shop/tls", "canary": canary},
		}
	}
	plan := planOf(host, nil, client("x", "shop/ca", 2, "false"), client("y", "shop/ca", 1, "true"))
	if len(plan.ClientTLS) != 2 || plan.ClientTLS[0].Name != "y" || len(plan.ProxyTLS) != 2 || plan.Denied != "" {
		t.Errorf("%+v", plan)
	}
	bad := client("z", "ca", 3, "true")
	if plan := planOf(host, nil, first, bad); denied(plan, first.member().options) == "" {
		t.Errorf("the host is open although the Secret of a canary is unknown: %+v", plan)
	}
	refused := object{name: "r", annotations: map[string]string{"auth-url": "{}"}, rules: []string{host + "=P:/r"}}
	if plan := planOf(
		host, nil, first, refused,
	); denied(plan, refused.member().options) == "" || denied(plan, first.member().options) != "" {
		t.Error("an Ingress that is not accepted closes its own locations alone")
	}
}

func TestExempt(t *testing.T) {
	location := location{Name: "/.well-known/acme-challenge/x"}
	if !location.exempt([]string{"", "/.well-known/acme-challenge"}) || location.exempt([]string{"/well", ""}) {
		t.Error("by another beginning")
	}
}

// TestPlansOfAnyOrder demands, of random Ingresses in any order, that the plan is the same, and that each path of a
// host is served: by the Ingress that has it, or by an older one.
func TestPlansOfAnyOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	for round := range 1000 {
		var objects []object
		for i := range 1 + random.IntN(5) {
			made := object{
				name: fmt.Sprintf("i%d", i), age: random.IntN(3), annotations: map[string]string{},
				fallback: random.IntN(4) == 0,
			}
			for range random.IntN(3) {
				var paths []string
				for range 1 + random.IntN(4) {
					paths = append(paths, one("E", "P", "I", "")+":"+one("", "/", "/a", "/a/", "/a/b", "/b", "/a.*", "/ab"))
				}
				made.rules = append(made.rules, one("h", "", "g")+"="+strings.Join(paths, ","))
			}
			made.annotations[one("use-regex", "canary", "app-root", "x")] = one("true", "/a")
			made.annotations[one("rewrite-target", "x")] = one("/a", "/", "/$1")
			objects = append(objects, made)
		}
		for _, host := range []string{"h", anyHost} {
			plan := planOf(host, nil, objects...)
			random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
			if again := planOf(host, nil, objects...); !reflect.DeepEqual(plan, again) {
				t.Fatalf("round %d: %s", round, cmp.Diff(plan, again))
			}
			if plan == nil {
				continue // Canaries alone.
			}
			names := map[string]bool{}
			for _, location := range plan.Locations {
				key := fmt.Sprint(location.Exact && !plan.Regex, location.Name)
				if names[key] {
					t.Fatalf("round %d: %s twice in %q", round, key, shown(plan))
				}
				names[key] = true
			}
			if !names[fmt.Sprint(false, "/")] {
				t.Fatalf("round %d: no root in %q", round, shown(plan))
			}
		}
	}
}

// TestServerSnippet demands that the first server-snippet of a host decides, as it is the only one in nginx.
func TestServerSnippet(t *testing.T) {
	with := func(name string, age int, snippet string) object {
		return object{
			name: name, age: age, rules: []string{"a=P:/" + name}, annotations: map[string]string{"server-snippet": snippet},
		}
	}
	const harmless, protects = "gzip on;", "location /admin { deny all; }"
	for name, row := range map[string]struct {
		objects []object
		denied  bool
	}{
		"none":              {[]object{{name: "x", rules: []string{"a=P:/"}}}, false},
		"harmless":          {[]object{with("x", 0, harmless)}, false},
		"protects":          {[]object{{name: "w", rules: []string{"a=P:/"}}, with("x", 1, protects)}, true},
		"the second of two": {[]object{with("x", 0, harmless), with("y", 1, protects)}, false},
		"behind an empty":   {[]object{with("x", 0, ""), with("y", 1, protects)}, true},
		"of another host": {[]object{{name: "w", rules: []string{"a=P:/"}}, {
			name: "x", rules: []string{"b=P:/"}, annotations: map[string]string{"server-snippet": protects},
		}}, false},
		"not understood": {[]object{with("x", 0, "add_header a b")}, true},
	} {
		if plan := planOf("a", nil, row.objects...); (plan.Denied != "") != row.denied {
			t.Errorf("%s: %q", name, plan.Denied)
		}
	}
}
