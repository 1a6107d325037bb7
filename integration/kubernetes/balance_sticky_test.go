package kubernetes

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// stickyPodLeaves deletes the pod of a sticky client. The client stays until the pod is gone, while others do not get
// it; then it moves once, with one new cookie.
func stickyPodLeaves(t *testing.T, c *cluster.Cluster) {
	c.Apply(namespace("glue"), strings.Replace(lingering("glue/pot"), "port: 80}]",
		"port: 80, sticky: {cookie: {name: pot}}}]", 1))
	c.Scale("glue/pot", 3)
	c.Endpoints("glue/pot", 3)
	g := open(t, c, static)
	g.spreads("pot.test", 3)

	s := &sticker{g: g}
	home := s.ask()
	if s.cookies != 1 || !strings.HasPrefix(home, "glue/pot-") {
		t.Fatalf("the first answer comes from %q with %d cookies", home, s.cookies)
	}
	for range 10 {
		s.stays(home)
	}
	name := strings.TrimPrefix(home, "glue/")
	c.DeleteNow("Pod", home)
	c.UntilAll("EndpointSlice.discovery.k8s.io", "glue", "a pod that serves and terminates",
		func(objects []*unstructured.Unstructured) bool {
			for _, one := range endpoints(objects) {
				if one.TargetRef != nil && one.TargetRef.Name == name && yes(one.Conditions.Serving) &&
					yes(one.Conditions.Terminating) {
					return true
				}
			}
			return false
		})
	// Others do not get it once Sluice has received the change.
	until(t, func() bool {
		return g.several("pot.test/", 12)["200 "+home] == 0
	}, func() string { return "new clients get to a pod that leaves" })
	kept := 0
	var next string
	until(t, func() bool {
		if next = s.ask(); next != home {
			return true
		}
		kept++
		if s.cookies != 1 {
			t.Fatalf("%d cookies from a pod that the client sticks to", s.cookies)
		}
		if got := g.ask("pot.test/"); got == "200 "+home {
			t.Fatal("a new client gets to a pod that leaves")
		}
		return false
	}, func() string { return "the client never leaves " + home })
	if kept == 0 {
		t.Error("the client has left its pod before that was gone")
	}
	if s.cookies != 2 {
		t.Errorf("the client moves with %d cookies, want 1", s.cookies-1)
	}
	c.Until("Pod", home, "gone", func(object *unstructured.Unstructured) bool { return object == nil })
	for range 10 {
		s.stays(next)
	}
	if s.cookies != 2 {
		t.Errorf("%d cookies altogether, want 2", s.cookies)
	}
	t.Logf("%d requests were answered by the pod that was leaving", kept)
}

// sticker is a client that keeps its cookie.
type sticker struct {
	g       *gate
	cookie  *http.Cookie
	cookies int // how many it was given
}

// ask returns the pod that answers.
func (s *sticker) ask() string {
	s.g.t.Helper()
	request := s.g.web.Request(http.MethodGet, "/", nil)
	request.Host = "pot.test"
	if s.cookie != nil {
		request.AddCookie(&http.Cookie{Name: s.cookie.Name, Value: s.cookie.Value})
	}
	answer := s.g.web.Send(request)
	if answer.StatusCode != http.StatusOK {
		s.g.t.Fatalf("%s: a sticky client gets %d%s", time.Now().Format(time.StampMicro), answer.StatusCode, s.g.tail())
	}
	for _, cookie := range answer.Cookies() {
		s.cookie = cookie
		s.cookies++
	}
	return answer.Header.Get("X-Pod")
}

func (s *sticker) stays(at string) {
	s.g.t.Helper()
	if got := s.ask(); got != at {
		s.g.t.Errorf("the client gets to %s, and sticks to %s", got, at)
	}
}
