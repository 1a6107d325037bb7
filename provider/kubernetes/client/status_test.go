package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

// pages keeps what is logged from level info on.
type pages struct {
	telemetry.Discard
	written []string
}

func (p *pages) Info(message string, _ ...any) { p.written = append(p.written, "INFO "+message) }
func (p *pages) Warn(message string, _ ...any) { p.written = append(p.written, "WARN "+message) }

// lone is an informer that makes no requests, and the watch whose only informer it is.
func lone() (*informer, *Watched[*corev1.Secret], *pages) {
	log := &pages{}
	watched := &Watched[*corev1.Secret]{resource: Secrets(), objects: map[objectKey]*corev1.Secret{}}
	one := &informer{
		cluster: &Cluster{logger: log},
		target:  target{version: corev1.SchemeGroupVersion, resource: "secrets"},
		store:   &store[*corev1.Secret]{watched: watched},
	}
	watched.informers = []*informer{one}
	return one, watched, log
}

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("rbac"))
}

// refusing is a stream whose requests were refused.
func refusing() *stream {
	return &stream{requests: &requests{refused: []string{"watch", "list", "list"}}}
}

// synced brings an informer to hold one object.
func synced(t *testing.T, one *informer) {
	t.Helper()
	one.granted()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "tls", ResourceVersion: "1"}}
	if err := (filling{one.store, one}).Replace([]any{secret}, "1"); err != nil {
		t.Fatal(err)
	}
}

func pass(d time.Duration) { <-time.NewTimer(d).C }

func TestRefusalOfWhatWorkedDoesNotCountAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, watched, log := lone()
		synced(t, one)
		for range 3 {
			one.judge(fmt.Errorf("failed to list: %w", forbidden()), refusing())
			if now := watched.Status(); now.State != dynamic.StateSynced {
				t.Fatalf("status %v while an API server may be starting, want synced", now)
			}
			pass(4 * time.Second)
		}
		one.judge(forbidden(), refusing())
		if now := watched.Status(); now != (Status{dynamic.StateForbidden, "may not list and watch secrets"}) ||
			watched.Len() != 1 {
			t.Errorf("status %v with %d objects, want forbidden with what was known", now, watched.Len())
		}
		one.judge(forbidden(), refusing())
		one.granted()
		if now := watched.Status(); now.State != dynamic.StateSynced || now.Reason != "" {
			t.Errorf("status %v when it is granted again, want synced", now)
		}
		want := []string{
			"WARN Kubernetes refuses a request of Sluice; everything else works, and this will as soon as it is granted",
			"INFO Kubernetes lets Sluice read it now",
		}
		if diff := cmp.Diff(want, log.written); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

func TestAbsenceOfWhatWasThereCountsTheSecondTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, watched, _ := lone()
		synced(t, one)
		one.absent()
		one.granted()
		pass(time.Second)
		one.absent()
		if watched.Len() != 1 || watched.Status().State != dynamic.StateSynced {
			t.Error("one answer that it is not served has emptied the watch")
		}
		one.absent()
		if watched.Len() != 0 || watched.Status().State != dynamic.StateAbsent {
			t.Error("two answers in a row have not")
		}
	})
}

func TestAbsentAPIsAreLookedForLessOftenInTheLongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, _, _ := lone()
		began, looks := time.Now(), 0
		for time.Since(began) < 10*time.Minute {
			pause := one.absent()
			if pause < 2*time.Second || pause > 10*time.Second || (looks == 10 && pause != 2*time.Second) {
				t.Fatalf("pause %d is %s", looks, pause)
			}
			pass(pause)
			looks++
		}
		if looks < 60 || looks > 150 {
			t.Errorf("%d looks in ten minutes", looks)
		}
	})
}

func TestTroubleIsLoggedOnce(t *testing.T) {
	tests := []struct {
		name   string
		err    error
		reason string
		lines  int
	}{
		{
			"a server that fails", apierrors.NewInternalError(errors.New("broken")), "secrets: Internal error occurred: broken",
			2,
		},
		{
			"no answer, which is said elsewhere", &url.Error{Op: "Get", URL: "https://k", Err: errors.New("refused")},
			`secrets: Get "https://k": refused`, 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, watched, log := lone()
				for range 5 {
					one.judge(&url.Error{Op: "Get", URL: "https://k", Err: errors.New("refused")}, nil)
					pass(4 * time.Second)
				}
				for i := range 5 {
					if one.judge(test.err, nil); i < 2 && len(log.written) > 0 {
						t.Errorf("a server that is starting is worth %v", log.written)
					}
					pass(4 * time.Second)
				}
				if now := watched.Status(); now != (Status{dynamic.StatePending, test.reason}) {
					t.Errorf("status %v, want pending with the reason", now)
				}
				synced(t, one)
				if len(log.written) != test.lines || watched.Status() != (Status{State: dynamic.StateSynced}) {
					t.Errorf("log %v and status %v, want %d lines and synced", log.written, watched.Status(), test.lines)
				}
			})
		})
	}
}

func TestStatusOfSeveralNamespaces(t *testing.T) {
	is := func(state dynamic.ProviderState) *informer {
		return &informer{status: status{published: Status{State: state, Reason: "of " + state.String()}}}
	}
	absent, ready := is(dynamic.StateAbsent), is(dynamic.StateSynced)
	refused, pending := is(dynamic.StateForbidden), is(dynamic.StatePending)
	tests := []struct {
		informers []*informer
		want      dynamic.ProviderState
	}{
		{[]*informer{absent, absent}, dynamic.StateAbsent},
		{[]*informer{absent, ready}, dynamic.StateSynced},
		{[]*informer{refused, ready, absent}, dynamic.StateForbidden},
		{[]*informer{refused, pending, ready}, dynamic.StatePending},
		{[]*informer{is(dynamic.StateUnchanged), ready}, dynamic.StatePending},
	}
	for _, test := range tests {
		got := (&Watched[*corev1.Secret]{informers: test.informers}).Status()
		if got.State != test.want || (test.want != dynamic.StatePending && got.Reason != "of "+test.want.String()) {
			t.Errorf("status %v, want %s with its reason once", got, test.want)
		}
	}
}

// answers is a transport that does what a test says.
type answers func() (*http.Response, error)

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a() }

func TestReachSpeaksOnceOfEachOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, away := &pages{}, false
		watching := &reach{logger: log, next: answers(func() (*http.Response, error) {
			if away {
				return nil, errors.New("refused")
			}
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		})}
		ask := func(times int) {
			for range times {
				request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://k", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				if response, err := watching.RoundTrip(request); err == nil {
					_ = response.Body.Close()
				}
				pass(300 * time.Millisecond)
			}
		}
		for _, outage := range []int{2, 20, 20} { // The first is too short for a line.
			away = true
			ask(outage)
			away = false
			ask(5)
		}
		want := []string{
			"WARN the Kubernetes API server does not answer; what is known of the cluster stays in use",
			"INFO the Kubernetes API server answers again",
		}
		if diff := cmp.Diff(append(want, want...), log.written); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
