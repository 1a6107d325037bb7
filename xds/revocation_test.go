package xds_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	cluster "github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/tokenreview"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/xds"
)

// apiServer answers TokenReviews for one token, which it accepts until it is revoked.
type apiServer struct {
	token   string
	revoked atomic.Bool
	reviews atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(request *http.Request) (*http.Response, error) {
	a.reviews.Add(1)
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	answer := `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":false}}`
	if bytes.Contains(body, []byte(a.token)) && !a.revoked.Load() {
		answer = `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","status":{"authenticated":true,` +
			`"audiences":["sluice-xds"],"user":{"username":"system:serviceaccount:shop:web"}}}`
	}
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	recorder.WriteHeader(http.StatusCreated)
	_, err = recorder.WriteString(answer)
	return recorder.Result(), err
}

// TestARevokedToken revokes a token whose review is cached: streams begin with it until the review is a minute old, and
// not after that. A stream that has begun goes on until its connection ends.
func TestARevokedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &apiServer{token: "token-of-the-client"}
		connected, err := cluster.Connect(cluster.Options{Transport: server}, "k", telemetry.Discard{})
		if err != nil {
			t.Fatal(err)
		}
		reviewer, err := tokenreview.New(connected, "sluice-xds")
		if err != nil {
			t.Fatal(err)
		}
		b := bubbleOf(t, []string{"k/a/one:80"}, xds.ServerOptions{
			Authenticator: xds.NewIdentities(&static.XDS{}, reviewer), MaxStreams: 100,
		})
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+server.token)
		subscribe := func() (discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient, error) {
			stream, err := b.client().StreamAggregatedResources(ctx)
			if err != nil {
				t.Fatal(err)
			}
			_ = stream.Send(&discoveryv3.DiscoveryRequest{TypeUrl: resource.EndpointType, ResourceNames: []string{"k/a/one:80"}})
			_, err = stream.Recv() // It has the reason for which a stream is refused.
			return stream, err
		}
		first, err := subscribe()
		if err != nil {
			t.Fatal(err)
		}
		server.revoked.Store(true)
		pass(59 * time.Second)
		if _, err := subscribe(); err != nil || server.reviews.Load() != 1 {
			t.Errorf("%v after %d reviews, want the review to be used for a minute", err, server.reviews.Load())
		}
		pass(2 * time.Second)
		for range 2 {
			if _, err := subscribe(); status.Code(err) != codes.Unauthenticated || server.reviews.Load() != 2 {
				t.Errorf("%v after %d reviews, want Unauthenticated after the second one", err, server.reviews.Load())
			}
		}
		if got := len(b.server.Clients()); got != 2 {
			t.Errorf("%d streams, want those that began with the review", got)
		}
		began := time.Now()
		if _, err := first.Recv(); err == nil || time.Since(began) > 40*time.Minute {
			t.Errorf("the first stream ends after %v: %v", time.Since(began), err)
		}
	})
}
