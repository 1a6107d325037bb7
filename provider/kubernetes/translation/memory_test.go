package translation

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// world is a cluster whose objects of the kinds Route and Middleware are translated, and refer to Secrets.
type world struct {
	objects map[Source]object
	secrets map[Source]int
}

// object declares one object for each number; the number is what it says.
type object struct {
	generation int64
	routers    map[string]int
	services   map[string]int
	certs      map[string]int
	tcp        []string
	needs      []Source
	complains  map[string]dynamic.Status
}

func (w *world) translate(source Source) (Result, bool) {
	one, ok := w.objects[source]
	if !ok {
		return Result{}, false
	}
	result := Result{
		Origin: dynamic.Origin{
			Object: source.String(), Resource: &dynamic.Resource{Name: source.Name, Generation: one.generation},
		},
		Needs: one.needs,
	}
	for name, says := range one.routers {
		result.Put(dynamic.Ref{Kind: dynamic.KindRouter, Name: name}, &dynamic.Router{Rule: strconv.Itoa(says)})
	}
	for name, says := range one.services {
		for _, need := range one.needs {
			says += 100 * w.secrets[need]
		}
		result.Put(dynamic.Ref{Kind: dynamic.KindService, Name: name},
			&dynamic.Service{LoadBalancer: &dynamic.ServersLoadBalancer{Strategy: strconv.Itoa(says)}})
	}
	for name, says := range one.certs {
		result.PutCertificate(&dynamic.CertificateEntry{
			Name: name, Certificate: dynamic.Certificate{CertFile: strconv.Itoa(says)},
		})
	}
	for _, name := range one.tcp {
		result.Put(dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: name}, &dynamic.TCPRouter{})
	}
	for _, name := range slices.Sorted(maps.Keys(one.complains)) {
		result.Verdicts = append(result.Verdicts, dynamic.Verdict{
			Ref: dynamic.Ref{Kind: dynamic.KindRouter, Name: name}, Status: one.complains[name], Reason: "for a reason",
		})
	}
	return result, true
}

func kinds() []string { return []string{"Middleware", "Route"} }

// change changes something at random and returns what is to be touched.
func (w *world) change(random *rand.Rand) Source {
	pick := func(names ...string) string { return names[random.IntN(len(names))] }
	if random.IntN(4) == 0 {
		secret := Source{Kind: "Secret", Namespace: pick("a", "b"), Name: pick("s", "t")}
		w.secrets[secret] = random.IntN(3)
		return secret
	}
	source := Source{Kind: pick(kinds()...), Namespace: pick("a", "b"), Name: pick("x", "y", "z")}
	if random.IntN(4) == 0 {
		delete(w.objects, source)
		return source
	}
	one := object{generation: int64(random.IntN(2)), complains: map[string]dynamic.Status{}}
	some := func(names ...string) map[string]int {
		chosen := map[string]int{}
		for _, name := range names {
			if random.IntN(3) == 0 {
				chosen[name] = random.IntN(3)
			}
		}
		return chosen
	}
	one.routers, one.services, one.certs = some("p", "q", "r"), some("p", "q", "default"), some("c", "d", "e")
	for name := range one.routers {
		one.complains[name] = dynamic.Status(random.IntN(3))
	}
	one.tcp = slices.Sorted(maps.Keys(some("p", "q")))
	for range random.IntN(3) {
		one.needs = append(one.needs, Source{Kind: "Secret", Namespace: pick("a", "b"), Name: pick("s", "t")})
	}
	w.objects[source] = one
	return source
}

// anew translates the whole world with an empty memory.
func (w *world) anew() *dynamic.Configuration {
	memory := New("test", kinds(), nil)
	for source := range w.objects {
		memory.Touch(source)
	}
	configuration, _ := memory.Update(w.translate)
	return configuration
}

// TestUpdateEqualsTranslatingAnew proves that after any sequence of changes the memory holds what an empty one would
// come to, that what has not changed keeps its pointer, and that what was given away is not written to.
func TestUpdateEqualsTranslatingAnew(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := &world{objects: map[Source]object{}, secrets: map[Source]int{}}
		memory := New("test", kinds(), nil)
		last, _ := memory.Update(w.translate)
		for step := range 40 {
			for range 1 + random.IntN(3) {
				memory.Touch(w.change(random))
			}
			before := contentOf(last)
			next, changed := memory.Update(w.translate)
			after := contentOf(next)
			if anew := contentOf(w.anew()); !says(anew, after) {
				t.Fatalf("seed %d, step %d: (-anew +incremental)\n%s", seed, step, cmp.Diff(anew, after))
			}
			if now := contentOf(last); !says(before, now) {
				t.Fatalf("seed %d, step %d: the last configuration was written to:\n%s", seed, step, cmp.Diff(before, now))
			}
			if same := says(before, after); same == changed || same != (last == next) {
				t.Fatalf("seed %d, step %d: changed is %t, the pointer is the same: %t, it says the same: %t",
					seed, step, changed, last == next, same)
			}
			checkPointers(t, before, after)
			last = next
		}
	}
}

// content is what a configuration says.
type content struct {
	Objects      map[dynamic.Ref]any
	Certificates []*dynamic.CertificateEntry
	Origins      map[dynamic.Ref]dynamic.Origin
	Verdicts     []dynamic.Verdict
}

func contentOf(of *dynamic.Configuration) content {
	return content{
		maps.Collect(of.Objects()), append([]*dynamic.CertificateEntry(nil), of.TLS.Certificates...),
		maps.Collect(of.Origins.All()), append([]dynamic.Verdict(nil), of.Verdicts...),
	}
}

// says compares contents at a small part of go-cmp's price, which takes minutes for this under the race detector.
func says(a, b content) bool { return reflect.DeepEqual(a, b) }

func byName(of content) map[string]*dynamic.CertificateEntry {
	named := map[string]*dynamic.CertificateEntry{}
	for _, entry := range of.Certificates {
		named[entry.Name] = entry
	}
	return named
}

func checkPointers(t *testing.T, last, next content) {
	t.Helper()
	for ref, object := range next.Objects {
		if before := last.Objects[ref]; before != nil && before != object && dynamic.Equal(before, object) {
			t.Fatalf("%s says the same under another pointer", ref)
		}
	}
	before := byName(last)
	for name, entry := range byName(next) {
		if known := before[name]; known != nil && known != entry && dynamic.Equal(known, entry) {
			t.Fatalf("certificate %s says the same under another pointer", name)
		}
	}
}

// counts counts as telemetry does.
type counts map[string]int

func (c counts) CountProvider(what, provider, kind string, n int) { c[what+" "+provider+" "+kind] += n }

func TestCountersAndDrops(t *testing.T) {
	counted := counts{}
	memory := New("test", kinds(), counted)
	route, secret := Source{"Route", "a", "x"}, Source{"Secret", "a", "s"}
	w := &world{objects: map[Source]object{}, secrets: map[Source]int{}}
	w.objects[route] = object{routers: map[string]int{"p": 1}, services: map[string]int{"p": 1}, needs: []Source{secret}}
	expect := func(what string, wantChanged bool, want counts) {
		t.Helper()
		clear(counted)
		select {
		case <-memory.Touched():
		default:
		}
		if _, changed := memory.Update(w.translate); changed != wantChanged {
			t.Errorf("%s: changed is %t", what, changed)
		}
		if diff := cmp.Diff(want, counted); diff != "" {
			t.Errorf("%s: counted (-want +got):\n%s", what, diff)
		}
	}
	memory.Touch(route)
	if counted["events test Route"] != 1 {
		t.Errorf("a touch counted %v", counted)
	}
	if len(memory.Touched()) != 1 {
		t.Error("a touch wakes no reader")
	}
	expect("added", true, counts{"builds test Route": 1, "pushes test Route": 1})

	memory.Touch(route)
	expect("touched, and nothing changed", false, counts{"builds test Route": 1, "drops test Route": 1})

	memory.Touch(Source{"Secret", "a", "another"})
	expect("what is not needed", false, counts{})

	memory.Touch(secret)
	expect("what it needs, unchanged", false, counts{"builds test Route": 1, "drops test Route": 1})

	w.secrets[secret] = 1
	memory.Touch(secret)
	expect("what it needs, changed", true, counts{"builds test Route": 1, "pushes test Route": 1})

	one := w.objects[route]
	one.generation = 9
	w.objects[route] = one
	memory.Touch(route)
	expect("another generation that says the same", true, counts{"builds test Route": 1, "pushes test Route": 1})

	delete(w.objects, route)
	memory.Touch(route)
	expect("gone", true, counts{"builds test Route": 1, "pushes test Route": 1})

	w.secrets[secret] = 2
	memory.Touch(secret)
	expect("what it needed while it was there", false, counts{})
}

// declaring returns a result with one object.
func declaring(kind dynamic.Kind, name string, object any) Result {
	var result Result
	result.Put(dynamic.Ref{Kind: kind, Name: name}, object)
	return result
}

func TestCollisions(t *testing.T) {
	middleware := func(prefix string) Result {
		return declaring(dynamic.KindMiddleware, "a-b-c", &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: prefix}})
	}
	service := func(set, strategy string) Result {
		return declaring(dynamic.KindService, "a-b-c", &dynamic.Service{
			LoadBalancer: &dynamic.ServersLoadBalancer{EndpointSet: set, Strategy: strategy},
		})
	}
	router := func(rule string) Result {
		return declaring(dynamic.KindRouter, "a-b-c", &dynamic.Router{Rule: rule})
	}
	first, near, far := Source{"Route", "a", "b-c"}, Source{"Route", "a", "b.c"}, Source{"Route", "a-b", "c"}
	tests := []struct {
		name     string
		declared map[Source]Result
		want     []string
	}{
		{"the same words", map[Source]Result{first: middleware("/x"), far: middleware("/x")}, nil},
		{"another namespace", map[Source]Result{first: middleware("/x"), far: middleware("/y")}, []string{
			`middleware a-b-c: is declared otherwise by Route a-b/c, so neither is used`,
			`source Route a-b/c: middleware "a-b-c" is declared otherwise by Route a/b-c, so neither is used`,
		}},
		{"the same namespace", map[Source]Result{first: middleware("/x"), near: middleware("/y")}, []string{
			`source Route a/b.c: middleware "a-b-c" is declared otherwise by Route a/b-c, which is used`,
		}},
		{"a service of one endpoint set", map[Source]Result{first: service("k", "wrr"), far: service("k", "p2c")}, []string{
			`source Route a-b/c: service "a-b-c" is declared otherwise by Route a/b-c, which is used`,
		}},
		{
			"a service of another endpoint set",
			map[Source]Result{first: service("k", "wrr"), far: service("l", "wrr")},
			[]string{
				`service a-b-c: is declared otherwise by Route a-b/c, so neither is used`,
				`source Route a-b/c: service "a-b-c" is declared otherwise by Route a/b-c, so neither is used`,
			},
		},
		{"two Services of one namespace", map[Source]Result{first: service("k", "wrr"), near: service("l", "wrr")}, []string{
			`service a-b-c: is declared otherwise by Route a/b.c, so neither is used`,
			`source Route a/b.c: service "a-b-c" is declared otherwise by Route a/b-c, so neither is used`,
		}},
		{
			"a Service with and without endpoints",
			map[Source]Result{first: service("k", "wrr"), near: service("", "wrr")},
			[]string{
				`source Route a/b.c: service "a-b-c" is declared otherwise by Route a/b-c, which is used`,
			},
		},
		{"a router", map[Source]Result{first: router("x"), far: router("y")}, []string{
			`source Route a-b/c: router "a-b-c" is declared otherwise by Route a/b-c, which is used`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			memory := New("test", kinds(), nil)
			for source := range test.declared {
				memory.Touch(source)
			}
			configuration, _ := memory.Update(func(source Source) (Result, bool) {
				result, ok := test.declared[source]
				return result, ok
			})
			var got []string
			for _, verdict := range configuration.Verdicts {
				got = append(got, verdict.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
}

// large is a world of many routes, of which each has a service of its own.
func large(routes int) (*world, *Memory) {
	w := &world{objects: map[Source]object{}, secrets: map[Source]int{}}
	memory := New("test", kinds(), nil)
	for i := range routes {
		source := Source{"Route", "shop", "route-" + strconv.Itoa(i)}
		name := "shop-route-" + strconv.Itoa(i) + "-0123456789abcdef0123"
		w.objects[source] = object{
			routers: map[string]int{name: 1}, services: map[string]int{name: 1},
			needs: []Source{{"Service", "shop", "service-" + strconv.Itoa(i)}},
		}
		memory.Touch(source)
	}
	memory.Update(w.translate)
	return w, memory
}

func BenchmarkUpdateOneRoute(b *testing.B) {
	for _, routes := range []int{1000, 5000, 20000} {
		b.Run(strconv.Itoa(routes), func(b *testing.B) {
			w, memory := large(routes)
			source := Source{"Route", "shop", "route-7"}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				one := w.objects[source]
				one.generation++
				one.routers = map[string]int{"shop-route-7-0123456789abcdef0123": i}
				w.objects[source] = one
				memory.Touch(source)
				if _, changed := memory.Update(w.translate); !changed {
					b.Fatal("nothing changed")
				}
			}
		})
	}
}

func BenchmarkTouchWithoutChange(b *testing.B) {
	w, memory := large(20000)
	source := Source{"Route", "shop", "route-7"}
	b.ReportAllocs()
	for b.Loop() {
		memory.Touch(source)
		if _, changed := memory.Update(w.translate); changed {
			b.Fatal("something changed")
		}
	}
}

func BenchmarkFirstUpdate(b *testing.B) {
	w, _ := large(20000)
	b.ReportAllocs()
	for b.Loop() {
		w.anew()
	}
}

// TestTouchWhileUpdating proves that no touch is lost, whenever it comes.
func TestTouchWhileUpdating(t *testing.T) {
	const sources, rounds = 8, 200
	var says [sources]atomic.Int64
	memory := New("test", kinds(), nil)
	var touching sync.WaitGroup
	for i := range sources {
		touching.Go(func() {
			for range rounds {
				says[i].Add(1)
				memory.Touch(Source{"Route", "a", strconv.Itoa(i)})
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		touching.Wait()
		close(finished)
	}()
	translate := func(source Source) (Result, bool) {
		i, err := strconv.Atoi(source.Name)
		if err != nil {
			t.Error(err)
		}
		rule := strconv.FormatInt(says[i].Load(), 10)
		return declaring(dynamic.KindRouter, source.Name, &dynamic.Router{Rule: rule}), true
	}
	var last *dynamic.Configuration
	for running := true; running; {
		select {
		case <-memory.Touched():
			last, _ = memory.Update(translate)
		case <-finished:
			running = false
			select {
			case <-memory.Touched():
				last, _ = memory.Update(translate)
			default:
			}
		}
	}
	for i := range sources {
		if router := last.HTTP.Routers.Get(strconv.Itoa(i)); router == nil || router.Rule != strconv.Itoa(rounds) {
			t.Errorf("router %d is %v, want the last thing that was said", i, router)
		}
	}
}

// TestAPanicLosesNothing has a translation panic, and wants the rest translated by the next call.
func TestAPanicLosesNothing(t *testing.T) {
	memory := New("test", []string{"Route"}, nil)
	for _, name := range []string{"a", "b", "c"} {
		memory.Touch(Source{Kind: "Route", Namespace: "shop", Name: name})
	}
	translated := map[string]int{}
	translate := func(source Source) (Result, bool) {
		translated[source.Name]++
		if source.Name == "b" && translated["b"] == 1 {
			panic("a defect")
		}
		var result Result
		ref := dynamic.Ref{Kind: dynamic.KindRouter, Name: source.Name}
		result.Put(ref, &dynamic.Router{Rule: "Host(`" + source.Name + "`)"})
		return result, true
	}
	func() {
		defer func() { _ = recover() }()
		memory.Update(translate)
	}()
	configuration, changed := memory.Update(translate)
	if !changed || configuration.HTTP.Routers.Len() != 3 || translated["a"] != 1 || translated["c"] != 1 {
		t.Errorf("%d routers, changed %t, translated %v", configuration.HTTP.Routers.Len(), changed, translated)
	}
}
