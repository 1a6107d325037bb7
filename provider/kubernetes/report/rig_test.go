package report

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/provider"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a Logger that keeps what is worth an operator's attention.
type lines struct {
	mu    sync.Mutex
	lines []string
}

func (l *lines) add(level, message string, values []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSuffix(fmt.Sprintln(append([]any{level, message}, values...)...), "\n"))
}

func (*lines) Debug(string, ...any)                  {}
func (l *lines) Info(message string, values ...any)  { l.add("info", message, values) }
func (l *lines) Warn(message string, values ...any)  { l.add("warn", message, values) }
func (l *lines) Error(message string, values ...any) { l.add("error", message, values) }

// count returns how many lines contain a text.
func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// rig is a Reporter with everything around it.
type rig struct {
	*Reporter
	t      *testing.T
	server *apiServer
	log    *lines

	mu      sync.Mutex
	view    provider.State
	changed chan struct{}
	objects map[string]metav1.Object
	dropped int
}

// newRig makes a Reporter of that identity; adjust may be nil.
func newRig(t *testing.T, server *apiServer, identity string, adjust func(*Options)) *rig {
	t.Helper()
	r := &rig{
		t: t, server: server, log: &lines{}, changed: make(chan struct{}), objects: map[string]metav1.Object{},
	}
	r.view.Changed = r.changed
	options := Options{
		Clients: server, Logger: r.log, Objects: r, Metrics: r, Namespace: "sluice-system", Identity: identity,
		State: func() provider.State {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.view
		},
		Exists: r.exists,
	}
	if adjust != nil {
		adjust(&options)
	}
	var err error
	if r.Reporter, err = New(options); err != nil {
		t.Fatal(err)
	}
	return r
}

// run runs the Reporter until stop is called or the test ends.
func (r *rig) run() (stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	})
	r.t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// show sets the view.
func (r *rig) show(view provider.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.changed)
	r.changed = make(chan struct{})
	r.view, r.view.Changed = view, r.changed
}

// exists implements Options.Exists: the objects of the view exist.
func (r *rig) exists(resource *dynamic.Resource) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, configuration := range r.view.Included {
		for _, origin := range configuration.Origins.All() {
			if origin.Resource != nil && origin.Resource.UID == resource.UID {
				return true
			}
		}
	}
	return false
}

// Object implements Objects.
func (r *rig) Object(kind, namespace, name string) (metav1.Object, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	object, ok := r.objects[kind+" "+namespace+"/"+name]
	return object, ok
}

// DropEvent implements Metrics.
func (r *rig) DropEvent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped++
}

// drops returns how many Events were not written.
func (r *rig) drops() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// pass lets the clock go on.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// route returns the Resource of an IngressRoute of a group.
func route(group, name string) *dynamic.Resource {
	return &dynamic.Resource{
		APIVersion: group + "/v1alpha1", Kind: "IngressRoute", Namespace: "shop", Name: name, UID: "uid-" + name,
		Generation: 3,
	}
}

// verdict returns a verdict on a router that the object declares, with a code for some of the reasons.
func verdict(of *dynamic.Resource, router string, status dynamic.Status, reason string) dynamic.Verdict {
	return dynamic.Verdict{
		Ref:    dynamic.Ref{Kind: dynamic.KindRouter, Name: router + "@kubernetescrd"},
		Origin: dynamic.Origin{Object: of.Kind + " " + of.Namespace + "/" + of.Name, Resource: of},
		Status: status, Reason: reason, Code: codes[reason],
	}
}

// codes are those of the reasons that tests give.
var codes = map[string]dynamic.Code{
	"bad rule":                        dynamic.CodeInvalidRule,
	"Service shop/web does not exist": dynamic.CodeMissingService,
	"Secret shop/tls does not exist":  dynamic.CodeMissingSecret,
}

// declaring returns a configuration in which each of the objects declares a router.
func declaring(resources ...*dynamic.Resource) *dynamic.Configuration {
	configuration := &dynamic.Configuration{Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{})}
	for _, resource := range resources {
		configuration.Origins = configuration.Origins.With(
			dynamic.Ref{Kind: dynamic.KindRouter, Name: resource.Name}, dynamic.Origin{Resource: resource},
		)
	}
	return configuration
}
