package status_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lines is a Logger that keeps warnings.
type lines struct {
	mu    sync.Mutex
	lines []string
}

func (*lines) Debug(string, ...any) {}
func (*lines) Info(string, ...any)  {}
func (l *lines) Warn(message string, values ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintln(append([]any{message}, values...)...))
}
func (l *lines) Error(message string, values ...any) { l.Warn(message, values...) }

// rig is a Writer with its API server.
type rig struct {
	*status.Writer
	server *apiServer
	log    *lines
	stop   func()
}

// newRig runs a Writer.
func newRig(t *testing.T, server *apiServer, name gatewayv1.GatewayController, qps float64, burst int) *rig {
	r := &rig{server: server, log: &lines{}}
	r.Writer = status.New(status.Options{
		Clients: server, Objects: server, Logger: r.log, Controller: name, QPS: qps, Burst: burst,
	})
	before := server.onChange
	server.onChange = func(key status.Key) {
		if before != nil {
			before(key)
		}
		r.Touch(key)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.Run(ctx, func(string, string, string, error) {})
	}()
	r.stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(r.stop)
	synctest.Wait()
	return r
}

// pass lets the clock go on.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

func gateway(attached int32) *status.Desired {
	return &status.Desired{
		Key: key(status.Gateway, "edge"), UID: "u1", Generation: 1, Gateway: &gatewayv1.GatewayStatus{
			Conditions: []metav1.Condition{condition("Accepted", true, "Accepted")},
			Listeners:  []gatewayv1.ListenerStatus{{Name: "http", AttachedRoutes: attached}},
		},
	}
}

// TestManyRoutesCauseFewWrites attaches 1,000 routes to one Gateway at different paces.
func TestManyRoutesCauseFewWrites(t *testing.T) {
	for _, pace := range []time.Duration{
		0, time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 310 * time.Millisecond,
	} {
		t.Run(pace.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newAPIServer(t)
				edge := key(status.Gateway, "edge")
				server.put(edge, `{}`)
				r := newRig(t, server, controller, 50, 100)
				for i := range int32(1000) {
					r.Set(gateway(i + 1))
					if pace > 0 {
						pass(pace)
						continue
					}
					one := route(parent("edge", condition("Accepted", true, "Accepted")))
					one.Key = key(status.HTTPRoute, fmt.Sprint("r", i))
					server.put(one.Key, `{}`)
					r.Set(one)
				}
				pass(1100 * time.Millisecond)
				if got := server.status(edge); !strings.Contains(got, `"attachedRoutes":1000`) {
					t.Errorf("after 1.1 s of quiet the status is %s", got)
				}
				pass(30 * time.Second)
				if writes := server.count("PATCH", "gateways/edge"); writes > 30 {
					t.Errorf("%d writes", writes)
				}
				if writes := server.count("PATCH", "httproutes"); pace == 0 && writes != 1000 {
					t.Errorf("%d writes of routes", writes)
				}
				if reads := server.count("GET"); reads != 0 {
					t.Errorf("%d reads", reads)
				}
			})
		})
	}
}

// TestASingleChangeIsWrittenSoon proves that a Gateway that changes rarely does not wait.
func TestASingleChangeIsWrittenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		edge := key(status.Gateway, "edge")
		server.put(edge, `{}`)
		r := newRig(t, server, controller, 50, 100)
		for i := range int32(20) {
			r.Set(gateway(i + 1))
			pass(400 * time.Millisecond)
			if got := server.status(edge); i < 7 && !strings.Contains(got, fmt.Sprintf(`"attachedRoutes":%d`, i+1)) {
				t.Errorf("change %d is not written after 0.4 s: %s", i+1, got)
			}
		}
		pass(time.Minute)
		r.Set(gateway(77))
		pass(100 * time.Millisecond)
		if got := server.status(edge); !strings.Contains(got, `"attachedRoutes":77`) {
			t.Errorf("after 0.1 s the status is %s", got)
		}
	})
}

// TestWritesHaveARate proves that routes are written at the rate of the options, and a Gateway does not wait for them.
func TestWritesHaveARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		server.put(key(status.Gateway, "edge"), `{}`)
		r := newRig(t, server, controller, 10, 20)
		for i := range 300 {
			one := route(parent("edge", condition("Accepted", true, "Accepted")))
			one.Key = key(status.HTTPRoute, fmt.Sprint("r", i))
			server.put(one.Key, `{}`)
			r.Set(one)
		}
		pass(10 * time.Second)
		if writes := server.count("PATCH"); writes < 100 || writes > 125 {
			t.Errorf("%d writes in 10 s, want those of 10 per second and of the burst", writes)
		}
		r.Set(gateway(300))
		pass(100 * time.Millisecond)
		if writes := server.count("PATCH", "gateways"); writes != 1 {
			t.Errorf("the Gateway was written %d times after 0.1 s", writes)
		}
		pass(30 * time.Second)
		if writes := server.count("PATCH", "httproutes"); writes != 300 {
			t.Errorf("%d routes were written", writes)
		}
	})
}

// TestEqualIsNotWritten proves that a new leader writes nothing that is there.
func TestEqualIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		edge := key(status.Gateway, "edge")
		server.put(edge, `{}`)
		r := newRig(t, server, controller, 50, 100)
		r.Set(gateway(3))
		pass(time.Second)
		r.stop()
		next := newRig(t, server, controller, 50, 100)
		next.Set(gateway(3))
		server.notify(edge)
		pass(time.Minute)
		if n := server.count(""); n != 1 {
			t.Errorf("%d requests, want the first write alone: %q", n, server.requests)
		}
	})
}

// TestALaggingWatch proves that a status that the watch does not show yet is not written twice, and that a further one
// is written over the live object.
func TestALaggingWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		edge := key(status.Gateway, "edge")
		server.put(edge, `{}`)
		r := newRig(t, server, controller, 50, 100)
		server.lagging = true
		r.Set(gateway(1))
		pass(time.Second)
		r.Touch(edge)
		pass(time.Second)
		if n := server.count("PATCH"); n != 1 {
			t.Errorf("%d writes, want 1", n)
		}
		r.Set(gateway(2))
		pass(time.Second)
		if got := server.status(edge); !strings.Contains(got, `"attachedRoutes":2`) {
			t.Errorf("status %s", got)
		}
		server.catchUp()
		r.Touch(edge)
		pass(time.Minute)
		if n := server.count("PATCH"); n != 2 {
			t.Errorf("%d writes, want 2: %q", n, server.requests)
		}
	})
}

// TestConflict has another controller write its entry between the reading and the writing of a status.
func TestConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		one := route(parent("edge", condition("Accepted", true, "Accepted")))
		theirs := `{"controllerName":"other.example/x","future":{"a":1},"parentRef":{"name":"y"}}`
		server.put(one.Key, `{}`)
		server.onPatch = sync.OnceValue(func() func(string) {
			done := false
			return func(string) {
				if !done {
					done = true
					server.put(one.Key, `{"parents":[`+theirs+`]}`)
				}
			}
		})()
		r := newRig(t, server, controller, 50, 100)
		r.Set(one)
		pass(5 * time.Second)
		got := server.status(one.Key)
		if !strings.Contains(got, theirs) || !strings.Contains(got, string(controller)) {
			t.Errorf("status %s", got)
		}
	})
}

// TestTwoControllersSettle has two of them write to one route.
func TestTwoControllersSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		one := route(parent("edge", condition("Accepted", true, "Accepted")))
		server.put(one.Key, `{}`)
		first := newRig(t, server, controller, 50, 100)
		second := newRig(t, server, "other.example/x", 50, 100)
		first.Set(one)
		theirs := route(parent("edge", condition("Accepted", false, "NoMatchingParent")))
		theirs.Parents[0].ControllerName = "other.example/x"
		second.Set(theirs)
		pass(time.Minute)
		got := server.status(one.Key)
		if strings.Count(got, "controllerName") != 2 {
			t.Errorf("status %s", got)
		}
		if n := server.count("PATCH"); n > 4 {
			t.Errorf("%d writes", n)
		}
	})
}

// TestAnOverwritingController proves that a status is restored, and that one who always overwrites it is answered less
// and less often.
func TestAnOverwritingController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		one := route(parent("edge", condition("Accepted", true, "Accepted")))
		server.put(one.Key, `{}`)
		r := newRig(t, server, controller, 50, 100)
		r.Set(one)
		pass(time.Minute)
		const theirs = `{"parents":[{"controllerName":"other.example/x","parentRef":{"name":"y"}}]}`
		server.put(one.Key, theirs)
		pass(2 * time.Second)
		if got := server.status(one.Key); !strings.Contains(got, string(controller)) {
			t.Errorf("the status was not restored: %s", got)
		}
		for range 3600 {
			if strings.Contains(server.status(one.Key), string(controller)) {
				server.put(one.Key, theirs)
			}
			pass(time.Second)
		}
		if n := server.count("PATCH"); n < 10 || n > 30 {
			t.Errorf("%d writes in an hour", n)
		}
		if len(r.log.lines) != 1 || !strings.Contains(r.log.lines[0], "another controller") {
			t.Errorf("log %q", r.log.lines)
		}
	})
}

// TestRefusals proves that missing permissions and invalid statuses do not become a stream of requests, and that what
// was refused is written when it may be.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		code, most int
		after      time.Duration
	}{
		{http.StatusForbidden, 15, 31 * time.Second},
		{http.StatusUnprocessableEntity, 2, 10 * time.Minute},
		{http.StatusInternalServerError, 15, time.Minute},
	} {
		t.Run(http.StatusText(test.code), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := newAPIServer(t)
				edge := key(status.Gateway, "edge")
				server.put(edge, `{}`)
				server.refused[http.MethodPatch] = test.code
				r := newRig(t, server, controller, 50, 100)
				r.Set(gateway(1))
				pass(5 * time.Minute)
				if n := server.count("PATCH"); n == 0 || n > test.most {
					t.Errorf("%d requests in 5 minutes", n)
				}
				server.mu.Lock()
				delete(server.refused, http.MethodPatch)
				server.mu.Unlock()
				pass(test.after)
				if got := server.status(edge); !strings.Contains(got, `"attachedRoutes":1`) {
					t.Errorf("status %s", got)
				}
			})
		})
	}
}

// TestFinalizer proves that a GatewayClass has the API's finalizer while Gateways use it, beside those of others.
func TestFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		class := status.Key{Kind: status.GatewayClass}
		class.Name = "sluice"
		server.put(class, `{}`)
		server.objects[path(class)]["metadata"].(map[string]any)["finalizers"] = []any{"example.org/x"}
		server.catchUp()
		r := newRig(t, server, controller, 50, 100)
		finalizers := func() string {
			server.mu.Lock()
			defer server.mu.Unlock()
			return fmt.Sprint(server.objects[path(class)]["metadata"].(map[string]any)["finalizers"])
		}
		for _, test := range []struct {
			inUse bool
			want  string
		}{
			{true, "[example.org/x " + gatewayv1.GatewayClassFinalizerGatewaysExist + "]"},
			{false, "[example.org/x]"},
		} {
			r.Set(&status.Desired{Key: class, UID: "u1", Generation: 1, InUse: test.inUse, Class: &gatewayv1.GatewayClassStatus{
				Conditions: []metav1.Condition{condition("Accepted", true, "Accepted")},
			}})
			pass(time.Second)
			if got := finalizers(); got != test.want {
				t.Errorf("in use %v: finalizers %s, want %s", test.inUse, got, test.want)
			}
		}
		if got := server.status(class); !strings.Contains(got, "Accepted") {
			t.Errorf("status %s", got)
		}
	})
}

// TestDeletedObjects proves that nothing is requested for an object that is gone or forgotten.
func TestDeletedObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		edge := key(status.Gateway, "edge")
		r := newRig(t, server, controller, 50, 100)
		r.Set(gateway(1))
		pass(time.Second)
		server.put(edge, `{}`)
		r.Delete(edge)
		pass(time.Minute)
		if n := server.count(""); n != 0 {
			t.Errorf("%d requests", n)
		}
	})
}
