package tokenreview_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/tokenreview"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const user = "system:serviceaccount:shop:web"

// apiServer accepts the tokens that begin with good.
type apiServer struct {
	requests atomic.Int64
	down     atomic.Bool
	// audiences are those of its answers.
	audiences []string
}

// RoundTrip answers a TokenReview.
func (a *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	a.requests.Add(1)
	recorder := httptest.NewRecorder()
	if a.down.Load() || request.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
		recorder.WriteHeader(http.StatusServiceUnavailable)
		return recorder.Result(), nil
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := authenticationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	review := &authenticationv1.TokenReview{}
	if _, _, err := protobuf.NewSerializer(scheme, scheme).Decode(body, nil, review); err != nil {
		return nil, err
	}
	if len(review.Spec.Audiences) != 1 || review.Spec.Audiences[0] != "sluice-xds" {
		return nil, fmt.Errorf("audiences %q", review.Spec.Audiences)
	}
	review.APIVersion, review.Kind = "authentication.k8s.io/v1", "TokenReview"
	review.Status.Audiences = a.audiences
	if review.Status.Authenticated = strings.HasPrefix(review.Spec.Token, "good"); review.Status.Authenticated {
		review.Status.User.Username = user
	}
	recorder.Header().Set("Content-Type", "application/json")
	recorder.WriteHeader(http.StatusCreated)
	err = json.NewEncoder(recorder).Encode(review)
	return recorder.Result(), err
}

// reviewer returns a Reviewer that asks the API server.
func reviewer(t *testing.T, server *apiServer) *tokenreview.Reviewer {
	t.Helper()
	cluster, err := client.Connect(client.Options{Transport: server}, "k", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	made, err := tokenreview.New(cluster, "sluice-xds")
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestReview(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{audiences: []string{"sluice-xds"}}
		r := reviewer(t, server)
		expect := func(token, want string, requests int64) {
			t.Helper()
			got, ok, err := r.Review(t.Context(), token)
			if got != want || ok != (want != "") || err != nil {
				t.Errorf("%q, %v, %v, want %q", got, ok, err, want)
			}
			if server.requests.Load() != requests {
				t.Errorf("%d requests, want %d", server.requests.Load(), requests)
			}
		}
		expect("good", user, 1)
		expect("bad", "", 2)
		<-time.After(9 * time.Second) //nolint:forbidigo // a clock that costs no time
		expect("good", user, 2)
		expect("bad", "", 2)
		<-time.After(2 * time.Second) //nolint:forbidigo // a clock that costs no time
		expect("bad", "", 3)
		<-time.After(50 * time.Second) //nolint:forbidigo // a clock that costs no time
		expect("good", user, 4)
		claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, time.Now().Add(5*time.Second).Unix()))
		expect("good."+claims+".x", user, 5)
		<-time.After(6 * time.Second) //nolint:forbidigo // a clock that costs no time
		expect("good."+claims+".x", user, 6)
	})
}

// TestReviewFailsClosed accepts nothing while the API server does not answer, or does not know audiences.
func TestReviewFailsClosed(t *testing.T) {
	server := &apiServer{audiences: []string{"sluice-xds"}}
	server.down.Store(true)
	r := reviewer(t, server)
	if _, ok, err := r.Review(t.Context(), "good"); ok || err == nil {
		t.Errorf("%v, %v, want an error", ok, err)
	}
	server.down.Store(false)
	if _, ok, err := r.Review(t.Context(), "good"); !ok || err != nil {
		t.Errorf("%v, %v after the failure", ok, err)
	}
	if _, ok, err := reviewer(t, &apiServer{}).Review(t.Context(), "good"); ok || err != nil {
		t.Errorf("%v, %v for a token without the audience", ok, err)
	}
}

// TestCallersShareARequest asks for one token at the same time.
func TestCallersShareARequest(t *testing.T) {
	server := &apiServer{audiences: []string{"sluice-xds"}}
	r := reviewer(t, server)
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			if got, ok, err := r.Review(t.Context(), "good"); got != user || !ok || err != nil {
				t.Errorf("%q, %v, %v", got, ok, err)
			}
		})
	}
	callers.Wait()
	if got := server.requests.Load(); got != 1 {
		t.Errorf("%d requests, want one", got)
	}
}
