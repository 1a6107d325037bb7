package report

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/dynamic"
)

// in returns the Resource of an IngressRoute in a namespace.
func in(namespace, name string) *dynamic.Resource {
	resource := route("traefik.io", name)
	resource.Namespace, resource.UID = namespace, namespace+"-"+name
	return resource
}

// walled is an API server that refuses Events in the namespace closed.
type walled struct{ *apiServer }

// REST implements Clients.
func (w walled) REST(version schema.GroupVersion) (rest.Interface, error) {
	return w.connect(version, w)
}

// RoundTrip answers a request.
func (w walled) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.Contains(request.URL.Path, "/namespaces/closed/events") {
		recorder := httptest.NewRecorder()
		fail(recorder, http.StatusForbidden, metav1.StatusReasonForbidden)
		return recorder.Result(), nil
	}
	return w.apiServer.RoundTrip(request)
}

func TestANamespaceThatRefusesEventsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", func(o *Options) { o.Clients = walled{server} })
		r.run()
		pass(time.Second)
		for i := range 20 {
			name := fmt.Sprintf("r%02d", i)
			r.Publish([]dynamic.Verdict{
				verdict(in("closed", name), name+"c", dynamic.Quarantined, "bad rule"),
				verdict(in("open", name), name+"o", dynamic.Quarantined, "bad rule"),
			})
		}
		pass(time.Minute)
		if written := len(server.events()); written != 20 {
			t.Errorf("%d Events in the open namespace after a minute, want 20", written)
		}
		if n := r.log.count("may not create events"); n != 1 {
			t.Errorf("said %d times, want once: %v", n, r.log.lines)
		}
	})
}

// homeless is an API server without the namespace that the Lease is to be in.
type homeless struct{ *apiServer }

// REST implements Clients.
func (h homeless) REST(version schema.GroupVersion) (rest.Interface, error) {
	return h.connect(version, h)
}

// RoundTrip answers a request.
func (h homeless) RoundTrip(request *http.Request) (*http.Response, error) {
	if strings.Contains(request.URL.Path, "/leases") {
		recorder := httptest.NewRecorder()
		fail(recorder, http.StatusNotFound, metav1.StatusReasonNotFound)
		return recorder.Result(), nil
	}
	return h.apiServer.RoundTrip(request)
}

func TestALeaseWithoutANamespaceIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", func(o *Options) { o.Clients = homeless{server} })
		r.run()
		pass(time.Minute)
		if n := r.log.count("namespace sluice-system"); n != 1 || len(r.log.lines) != 1 {
			t.Errorf("said %d times, want once: %v", n, r.log.lines)
		}
	})
}

func TestManyMistakesInOneNamespaceDoNotSilenceOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		r.run()
		pass(time.Second)
		var verdicts []dynamic.Verdict
		for i := range maxQueue + 500 {
			name := fmt.Sprintf("r%04d", i)
			verdicts = append(verdicts, verdict(in("noisy", name), name, dynamic.Quarantined, "bad rule"))
		}
		r.Publish(verdicts)
		r.Publish([]dynamic.Verdict{verdict(in("calm", "web"), "web", dynamic.Quarantined, "bad rule")})
		pass(5 * time.Minute)
		events := server.events()
		if calm := server.seen("POST /api/v1/namespaces/calm/events"); calm != 1 || len(events) != maxQueue ||
			r.drops() != 501 {
			t.Errorf("%d Events for the calm namespace among %d, %d dropped; want one among %d, and 501", calm, len(events),
				r.drops(), maxQueue)
		}
	})
}

func TestTwoWritersOfOneStatusDoNotOverwriteEachOtherAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		ingresses := &claims{}
		ingresses.add(t, server, "web")
		r := newRig(t, server, "one", func(o *Options) {
			o.Addresses = []*Addresses{{ingresses: ingresses, fixed: []address{{ip: "192.0.2.1"}}}}
		})
		r.run()
		for range 600 {
			pass(time.Second)
			if server.shows("web") == "192.0.2.1" {
				ingresses.add(t, server, "web", "192.0.2.99")
			}
		}
		if patches := server.seen("PATCH"); patches < 10 || patches > 25 {
			t.Errorf("%d patches in ten minutes, want one every %s", patches, rewriteAfter)
		}
	})
}
