package xds

import (
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/xds"
)

// publisherIsKilled kills the publisher, replaces half of the pods while it is away, and starts it again. Until then
// the other half answers; afterwards all clients have the new pods, in versions of the new process.
func publisherIsKilled(t *testing.T, f *field) {
	own := f.on(t)
	own.during(func() {
		before := own.sent()
		f.publisher.Signal(syscall.SIGKILL)
		f.publisher.Wait()
		for _, service := range services() {
			own.replace(service, crew/2)
		}
		for _, service := range services() {
			own.c.Endpoints("shop/"+service, crew)
			for _, one := range f.clients {
				own.spread(one, service+".shop", crew/2)
			}
		}
		f.publisher = publish(f.t, f.c, files())
		own.publisher = f.publisher
		for _, service := range services() {
			for _, one := range f.clients {
				own.spread(one, service+".shop", crew)
			}
		}
		own.anew(before)
		own.settled(2 * crew)
	})
}

// replace deletes some pods of a Deployment, which makes others.
func (f *field) replace(deployment string, count int) {
	f.t.Helper()
	var names []string
	what := fmt.Sprintf("%d pods of %s", crew, deployment)
	f.c.UntilAll("Pod", "shop", what, func(pods []*unstructured.Unstructured) bool {
		names = nil
		for _, pod := range pods {
			if pod.GetLabels()["app"] == deployment && pod.GetDeletionTimestamp() == nil {
				names = append(names, pod.GetName())
			}
		}
		return len(names) == crew
	})
	slices.Sort(names)
	for _, name := range names[:count] {
		f.c.DeleteNow("Pod", "shop/"+name)
	}
}

// streams returns the streams of the publisher.
func (f *field) streams() []xds.Client {
	f.t.Helper()
	text := harness.NewClient(f.t, harness.H1, f.publisher.Addr("traefik"), "localhost", nil).Get("/api/xds/clients").Text
	var streams []xds.Client
	if err := json.Unmarshal([]byte(text), &streams); err != nil {
		f.t.Fatalf("%v: %s", err, text)
	}
	return streams
}

// sent returns the versions that the publisher has sent.
func (f *field) sent() map[string]bool {
	f.t.Helper()
	versions := map[string]bool{}
	for _, one := range f.streams() {
		for _, of := range one.Types {
			if of.Sent != "" {
				versions[of.Sent] = true
			}
		}
	}
	if len(versions) == 0 {
		f.t.Fatal("there are no streams")
	}
	return versions
}

// anew waits until all streams are in sync, and wants none to have a version from before. An incremental client names
// what it has, and gets nothing for a type that is the same.
func (f *field) anew(before map[string]bool) {
	f.t.Helper()
	var streams []xds.Client
	until(f.t, func() bool {
		streams = f.streams()
		return len(streams) > 0 && !slices.ContainsFunc(streams, func(one xds.Client) bool {
			return one.Status != xds.StatusSynced
		})
	}, func() string { return fmt.Sprintf("the streams are in sync: %+v", streams) })
	for _, one := range streams {
		for _, of := range one.Types {
			if before[of.Sent] || before[of.Acknowledged] {
				f.t.Errorf("%s of %s has the version %s of the publisher that was killed", of.Type, one.Node, of.Sent)
			}
		}
	}
}
