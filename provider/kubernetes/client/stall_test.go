package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/telemetry"
)

// TestAServerWithoutAPIsIsNoAPIServer demands that a proxy whose API servers are away does not make
// everything disappear.
func TestAServerWithoutAPIsIsNoAPIServer(t *testing.T) {
	widgets := schema.GroupVersion{Group: "example.com", Version: "v1"}
	tests := []struct {
		name    string
		core    int
		version schema.GroupVersion
		served  bool
		wrong   string
	}{
		{"a version that is gone", http.StatusOK, widgets, false, ""},
		{"a version that is gone, requested without the permission for others", http.StatusForbidden, widgets, false, ""},
		{"nothing is there", http.StatusNotFound, widgets, false, "no Kubernetes API server"},
		{"not even the core API is there", http.StatusNotFound, corev1.SchemeGroupVersion, false, "no Kubernetes API server"},
		{"the API server is in trouble", http.StatusServiceUnavailable, widgets, false, "resources of v1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path != "/api/v1":
					http.NotFound(w, r)
				case test.core != http.StatusOK:
					http.Error(w, "no", test.core)
				default:
					_, _ = io.WriteString(w, `{"kind":"APIResourceList","resources":[{"name":"services"}]}`)
				}
			}))
			t.Cleanup(server.Close)
			cluster, err := Connect(Options{Endpoint: server.URL}, "kubernetes", telemetry.Discard{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cluster.http.CloseIdleConnections() })
			served, err := cluster.discovery.serves(t.Context(), test.version, "services")
			if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) ||
				served != test.served {
				t.Errorf("served %t, error %v; want %t and an error that says %q", served, err, test.served, test.wrong)
			}
		})
	}
}

func TestAbsenceOfWhatIsRefusedCountsTheSecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, watched, _ := lone()
		synced(t, one)
		one.judge(forbidden(), refusing())
		pass(grace)
		one.judge(forbidden(), refusing())
		if one.absent(); watched.Len() != 1 {
			t.Error("one answer that it is not served has taken what was known before it was refused")
		}
		if one.absent(); watched.Len() != 0 {
			t.Error("two answers in a row have not")
		}
	})
}

// transport answers requests as a test says.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(request *http.Request) (*http.Response, error) { return t(request) }

// asking returns requests for Secrets that a transport answers.
func asking(t *testing.T, answer transport) *requests {
	t.Helper()
	config := &rest.Config{Host: "http://k"}
	cluster, err := Connect(Options{Endpoint: config.Host}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	cluster.http = &http.Client{Transport: answer}
	one := Watch(cluster, Secrets(), Scope{}).informers[0]
	client, err := cluster.REST(corev1.SchemeGroupVersion)
	if err != nil {
		t.Fatal(err)
	}
	return newRequests(client, one)
}

// silence is a body that brings nothing until its request ends.
type silence struct{ until context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.until.Done()
	return 0, s.until.Err()
}

func (silence) Close() error { return nil }

// TestAStalledWatchEnds demands that a watch ends which the API server should have ended, and did not.
func TestAStalledWatchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := asking(t, func(request *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: silence{request.Context()}, Request: request,
			}, nil
		})
		began, seconds := time.Now(), int64(300)
		changes, err := silent.WatchWithContext(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		for event := range changes.ResultChan() {
			if event.Type != watch.Error {
				t.Errorf("event %v of a silent watch", event)
			}
		}
		changes.Stop()
		if lasted := time.Since(began); lasted < 5*time.Minute || lasted > 6*time.Minute {
			t.Errorf("a watch of five minutes has ended after %s", lasted)
		}
		began = time.Now()
		if _, err := silent.ListWithContext(t.Context(), metav1.ListOptions{}); err == nil ||
			time.Since(began) > 5*time.Minute {
			t.Errorf("a list without an end has ended after %s with %v", time.Since(began), err)
		}
		stopped, err := silent.WatchWithContext(t.Context(), metav1.ListOptions{TimeoutSeconds: &seconds})
		if err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		stopped.Stop()
		synctest.Wait() // Nothing of the watch is left when the test ends, or the bubble would say so.
		if time.Since(began) != 0 {
			t.Error("stopping a watch has taken time")
		}
	})
}

// TestStreamsThatBreakOffAreNotBegunForEver demands that a reflector does not retry without a pause for ever.
func TestStreamsThatBreakOffAreNotBegunForEver(t *testing.T) {
	asked := 0
	expired := asking(t, func(request *http.Request) (*http.Response, error) {
		asked++
		return &http.Response{
			StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
			Body: io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`)),
		}, nil
	})
	yes := true
	for range 2 {
		asked = 0
		expired.begin()
		for range 10 {
			_, err := expired.WatchWithContext(t.Context(), metav1.ListOptions{SendInitialEvents: &yes})
			if expired := apierrors.IsResourceExpired(err); err == nil || expired != (asked <= mostStreams &&
				errors.As(err, new(*apierrors.StatusError))) {
				t.Errorf("request %d: %v", asked, err)
			}
		}
		if asked != mostStreams {
			t.Errorf("%d requests in one attempt, want %d", asked, mostStreams)
		}
		if expired.doomed != nil {
			t.Errorf("a list would not even be tried: %v", expired.doomed)
		}
	}
}
