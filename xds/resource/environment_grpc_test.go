package resource_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/xds/resource"
)

// TestClientsOfGRPCChooseEnvironments has a gRPC client call environment services with metadata, and compares which
// server answers.
func TestClientsOfGRPCChooseEnvironments(t *testing.T) {
	var calls [3]atomic.Int64
	names := []string{"dev", "dev.proj1", "all"}
	text := ""
	for i, name := range names {
		text += fmt.Sprintf("\ns-%s: {loadBalancer: {servers: [{url: \"h2c://%s\"}]}}", name, backend(t, &calls[i]))
	}
	const subsets = "subsets: [{tag: dev, service: s-dev}, {tag: dev.proj1, service: s-dev.proj1}]"
	type request struct {
		metadata []string
		want     string
	}
	for name, test := range map[string]struct {
		options  string
		requests []request
	}{
		"default": {
			`default: dev, aliases: [{name: X-Branch}, {name: baggage, pattern: "(?:.*,)? *env=(@)(?:[;,].*)?"}]`,
			[]request{
				{nil, "dev"},
				{[]string{"x-virtual-env", ""}, "dev"},
				{[]string{"x-virtual-env", "dev.proj1"}, "dev.proj1"},
				{[]string{"x-virtual-env", "dev.proj1.feature1"}, "dev.proj1"},
				{[]string{"x-virtual-env", "dev.proj1-abc"}, "dev"},
				{[]string{"x-virtual-env", "", "x-branch", "dev.proj1"}, "dev"},
				{[]string{"x-branch", "dev.proj1"}, "dev.proj1"},
				{[]string{"x-branch", "", "baggage", "user=7,env=dev.proj1.x;ttl=1"}, "dev.proj1"},
				{[]string{"baggage", "user=7,env=dev.proj1-x"}, "dev"},
			},
		},
		"strict": {
			"default: dev, strict: true, tags: [dev.proj1.known]",
			[]request{
				{[]string{"x-virtual-env", "dev.proj1.known"}, "dev.proj1"},
				{[]string{"x-virtual-env", "dev.proj1.other"}, "dev"},
				{[]string{"x-virtual-env", "dev.proj1"}, "dev.proj1"},
			},
		},
		"reject": {
			"fallback: reject, default: dev",
			[]request{
				{[]string{"x-virtual-env", "test"}, "Unavailable"},
				{[]string{"x-virtual-env", "dev.x"}, "dev"},
				{nil, "dev"},
			},
		},
		"nothing": {"", []request{{nil, "Unavailable"}, {[]string{"x-virtual-env", "dev"}, "dev"}}},
		"any":     {"fallback: any, service: s-all", []request{{nil, "all"}, {[]string{"x-virtual-env", "dev.x"}, "dev"}}},
	} {
		t.Run(name, func(t *testing.T) {
			options := subsets
			if test.options != "" {
				options = test.options + ", " + subsets
			}
			bundle, _, err := parse(t, "svc: {environment: {"+options+"}}"+text).translate("svc@file")
			if err != nil {
				t.Fatal(err)
			}
			plane := newControlPlane(t, bundle, func(name string) *endpointv3.ClusterLoadAssignment {
				return assignmentOf(bundle, name)
			})
			client := dial(t, plane, "svc@file")
			for _, one := range test.requests {
				if got := answering(t, client, one.metadata, names, calls[:]); got != one.want {
					t.Errorf("%q is answered by %s, want %s", one.metadata, got, one.want)
				}
			}
			if rejections, _ := plane.seen(); len(rejections) > 0 {
				t.Errorf("rejected: %q", rejections)
			}
		})
	}
}

// assignmentOf returns an EDS resource of a bundle.
func assignmentOf(bundle resource.Bundle, name string) *endpointv3.ClusterLoadAssignment {
	for _, one := range bundle.Assignments {
		if one.Name == name {
			return one.Assignment(sets{}.get)
		}
	}
	return resource.Assignment(name, []dynamic.Endpoint{})
}

// answering makes a call with metadata, and returns the name of the server that has counted it, or the code of the
// error.
func answering(
	t *testing.T, client grpc_health_v1.HealthClient, with, names []string, calls []atomic.Int64,
) string {
	t.Helper()
	before := make([]int64, len(calls))
	for i := range calls {
		before[i] = calls[i].Load()
	}
	// grpc-go gives a resource up that does not come within 15 s, and such a call is Unavailable as well.
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), with...), 14*time.Second)
	defer cancel()
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		if status.Code(err) != codes.Unavailable {
			t.Error(err)
		}
		return status.Code(err).String()
	}
	for i := range calls {
		if calls[i].Load() > before[i] {
			return names[i]
		}
	}
	return "no server"
}
