package xds

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/protobuf/proto"
)

// view holds the resources that a group of clients may see. Updates reach the watches that name a changed resource.
type view struct {
	// namespaces are those whose resources are visible; nil means all, with those of no namespace.
	namespaces map[string]bool
	caches     map[string]*cache.LinearCache // by type URL
	prefix     string                        // of versions

	mu      sync.RWMutex
	present map[string]map[string]proto.Message // by type URL and name
	// updates counts the updates of each type, which is the number in its versions; notices are the last of endpoints.
	updates map[string]uint64
	notices [maxNotices]notice
}

// maxNotices is for how many updates of endpoints the time is kept at which the source noticed the change.
const maxNotices = 512

// notice is when the source noticed the change of an update.
type notice struct {
	update uint64
	at     time.Time
}

// newView returns a view of namespaces. Versions begin with prefix.
func newView(namespaces map[string]bool, prefix string) *view {
	v := &view{
		namespaces: namespaces, prefix: prefix, caches: map[string]*cache.LinearCache{},
		present: map[string]map[string]proto.Message{}, updates: map[string]uint64{},
	}
	for _, typeURL := range typeURLs() {
		v.caches[typeURL] = cache.NewLinearCache(typeURL, cache.WithVersionPrefix(prefix))
		v.present[typeURL] = map[string]proto.Message{}
	}
	return v
}

// sees reports whether the resources of an owner are visible.
func (v *view) sees(by owner) bool {
	return v.namespaces == nil || by.namespace != "" && v.namespaces[by.namespace]
}

// has reports whether a resource is shown.
func (v *view) has(typeURL, name string) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	_, ok := v.present[typeURL][name]
	return ok
}

// update applies changes to the resources of one type; a nil resource is removed. What is the same already, and what is
// not there to be removed, is no change. It returns the number of changes.
func (v *view) update(typeURL string, changes map[string]proto.Message, noticed time.Time) (int, error) {
	put, drop := map[string]types.Resource{}, []string(nil)
	v.mu.Lock()
	present := v.present[typeURL]
	for name, content := range changes {
		before, known := present[name]
		switch {
		case content == nil && known:
			delete(present, name)
			drop = append(drop, name)
		case content != nil && before != content:
			present[name] = content
			put[name] = content
		}
	}
	if len(put)+len(drop) > 0 {
		v.updates[typeURL]++
		if update := v.updates[typeURL]; typeURL == resource.EndpointType {
			v.notices[update%maxNotices] = notice{update: update, at: noticed}
		}
	}
	v.mu.Unlock()
	if len(put)+len(drop) == 0 {
		return 0, nil
	}
	if err := v.caches[typeURL].UpdateResources(put, drop); err != nil {
		return 0, fmt.Errorf("updating resources of type %s: %w", typeURL, err)
	}
	return len(put) + len(drop), nil
}

// noticedAt returns when the source noticed the change that made a version of endpoints; zero if unknown.
func (v *view) noticedAt(version string) time.Time {
	update, err := strconv.ParseUint(strings.TrimPrefix(version, v.prefix), 10, 64)
	if err != nil {
		return time.Time{}
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	if one := v.notices[update%maxNotices]; one.update == update {
		return one.at
	}
	return time.Time{}
}

// version returns the version of the resources of a type, as the caches have it.
func (v *view) version(typeURL string) string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.prefix + strconv.FormatUint(v.updates[typeURL], 10)
}

// lacks returns the names that are no resources of the type.
func (v *view) lacks(typeURL string, names []string) []string {
	v.mu.RLock()
	defer v.mu.RUnlock()
	var missing []string
	for _, name := range names {
		if _, ok := v.present[typeURL][name]; !ok && name != wildcard {
			missing = append(missing, name)
		}
	}
	return missing
}

// share replaces names by those of the resources, which are the same in all streams: requests are kept.
func (v *view) share(typeURL string, names []string) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	for i, name := range names {
		if content, ok := v.present[typeURL][name]; ok {
			names[i] = cache.GetResourceName(content)
		}
	}
}

// resources returns the named resources of a type, or all without names.
func (v *view) resources(typeURL string, names []string) map[string]proto.Message {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if names == nil {
		return maps.Clone(v.present[typeURL])
	}
	found := map[string]proto.Message{}
	for _, name := range names {
		if content, ok := v.present[typeURL][name]; ok {
			found[name] = content
		}
	}
	return found
}

// CreateWatch implements cache.ConfigWatcher for state-of-the-world streams.
func (v *view) CreateWatch(request *cache.Request, subscription cache.Subscription, responses chan cache.Response) (
	func(), error,
) {
	linear := v.caches[request.GetTypeUrl()]
	if linear == nil {
		return func() {}, nil // A type that is not published has no resources; the stream goes on.
	}
	return linear.CreateWatch(request, subscription, responses)
}

// CreateDeltaWatch implements cache.ConfigWatcher for incremental streams. A name that is no resource is answered at
// once, as removed, so that the client does not wait until its time-out.
func (v *view) CreateDeltaWatch(
	request *cache.DeltaRequest, subscription cache.Subscription, responses chan cache.DeltaResponse,
) (func(), error) {
	linear := v.caches[request.GetTypeUrl()]
	if linear == nil {
		return nil, nil
	}
	if missing := v.lacks(request.GetTypeUrl(), request.GetResourceNamesSubscribe()); len(missing) > 0 {
		known := maps.Clone(subscription.ReturnedResources())
		for _, name := range missing {
			delete(known, name)
		}
		responses <- &cache.DeltaPassthroughResponse{
			DeltaRequest: request, NextVersionMap: known,
			DeltaDiscoveryResponse: &discoveryv3.DeltaDiscoveryResponse{
				TypeUrl: request.GetTypeUrl(), RemovedResources: missing, SystemVersionInfo: v.version(request.GetTypeUrl()),
			},
		}
		return nil, nil // The watch begins with the client's acknowledgement.
	}
	return linear.CreateDeltaWatch(request, subscription, responses)
}

// publishes reports whether there are resources of a type.
func (v *view) publishes(typeURL string) bool { return v.caches[typeURL] != nil }
