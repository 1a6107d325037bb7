package endpoint

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// podTags holds the tags of pods, and which Services have which pods. It is used under the lock of the cache.
type podTags struct {
	policies Policies
	// byLabel holds the tags of the pods that have a label, by the key of the label and the uid of the pod.
	byLabel map[string]map[types.UID]podTag
	// known counts the pods of each tag.
	known map[scope]map[string]int
	// users are the Services behind which a pod is, in namespaces with a policy.
	users map[types.UID][]*entry
	// namespaces are those with a policy.
	namespaces map[string]*virtualenvironment.Policy
}

// podTag is the tag of a pod.
type podTag struct{ namespace, tag string }

// scope is a namespace and the key of the label that holds the tags of its pods.
type scope struct{ namespace, label string }

func newPodTags(policies Policies) *podTags {
	return &podTags{
		policies: policies, byLabel: map[string]map[types.UID]podTag{}, known: map[scope]map[string]int{},
		users: map[types.UID][]*entry{}, namespaces: map[string]*virtualenvironment.Policy{},
	}
}

// pod notes a change of a pod with a label, and marks the Services that it concerns.
func (c *sliceCache) pod(label string, before, after *metav1.PartialObjectMetadata) {
	uid := cmp.Or(after, before).UID
	c.mu.Lock()
	if before != nil && before.UID != uid {
		c.retag(label, before.UID, podTag{})
	}
	now := podTag{}
	if after != nil {
		now = podTag{after.Namespace, after.Labels[label]}
	}
	c.retag(label, uid, now)
	c.mu.Unlock()
	c.count(kindPod)
	c.changed()
}

// retag gives a pod another tag; an empty one takes it out. The caller holds mu.
func (c *sliceCache) retag(label string, uid types.UID, now podTag) {
	tags := c.pods.byLabel[label]
	before := tags[uid]
	if before == now {
		return
	}
	if now.tag == "" {
		delete(tags, uid)
	} else {
		tags[uid] = now
	}
	for _, one := range c.pods.users[uid] {
		c.touch(one, kindPod)
	}
	for _, namespace := range slices.Compact([]string{before.namespace, now.namespace}) {
		if c.pods.recount(scope{namespace, label}, before, now) && c.pods.strict(namespace, label) {
			c.touchAll(namespace, kindPod)
		}
	}
}

// recount counts a change of a pod's tag, and reports whether the tags of the namespace have changed.
func (p *podTags) recount(in scope, before, now podTag) (changed bool) {
	counts := p.known[in]
	if before.namespace == in.namespace && before.tag != "" {
		if counts[before.tag]--; counts[before.tag] == 0 {
			delete(counts, before.tag)
			changed = true
		}
	}
	if now.namespace == in.namespace && now.tag != "" {
		if counts == nil {
			counts = map[string]int{}
			p.known[in] = counts
		}
		counts[now.tag]++
		changed = changed || counts[now.tag] == 1
	}
	if len(counts) == 0 {
		delete(p.known, in)
	}
	return changed
}

// strict reports whether all tags of a namespace matter to each of its Services.
func (p *podTags) strict(namespace, label string) bool {
	policy := p.namespaces[namespace]
	return policy != nil && policy.Environment.Strict && policy.Label == label
}

// policy notes a change of the policy of a namespace, and returns the label that it needs; empty if it has none.
func (c *sliceCache) policy(namespace string) (label string) {
	policy := c.pods.policies.Policy(namespace)
	c.mu.Lock()
	defer c.mu.Unlock()
	if policy == nil {
		delete(c.pods.namespaces, namespace)
	} else {
		label, c.pods.namespaces[namespace] = policy.Label, policy
		if c.pods.byLabel[label] == nil {
			c.pods.byLabel[label] = map[types.UID]podTag{}
		}
	}
	c.touchAll(namespace, kindEnvironment)
	c.changed()
	return label
}

// touchAll has all Services of a namespace looked at. The caller holds mu.
func (c *sliceCache) touchAll(namespace, kind string) {
	for of, one := range c.entries {
		if of.namespace == namespace {
			c.pods.follow(one)
			c.touch(one, kind)
		}
	}
}

// follow notes which pods are behind a Service now.
func (p *podTags) follow(one *entry) {
	pods := p.behind(one)
	if slices.Equal(pods, one.pods) {
		return
	}
	for _, uid := range one.pods {
		users := p.users[uid]
		if at := slices.Index(users, one); at >= 0 {
			users = slices.Delete(users, at, at+1)
		}
		if p.users[uid] = users; len(users) == 0 {
			delete(p.users, uid)
		}
	}
	one.pods = pods
	for _, uid := range pods {
		p.users[uid] = append(p.users[uid], one)
	}
}

// behind returns the pods of a Service in a namespace with a policy, in the order of its slices. A pod that is in two
// slices is there twice.
func (p *podTags) behind(one *entry) []types.UID {
	if p.namespaces[one.of.namespace] == nil {
		return nil
	}
	pods := make([]types.UID, 0, len(one.pods)+1)
	for _, slice := range one.slices {
		for i := range slice.Endpoints {
			if uid := types.UID(podUID(slice.Endpoints[i].TargetRef)); uid != "" {
				pods = append(pods, uid)
			}
		}
	}
	return pods
}

// tags returns the tags of the pods behind a Service that are not terminating, ready or not, sorted.
func (p *podTags) tags(one *entry) []string {
	policy := p.namespaces[one.of.namespace]
	if policy == nil || len(one.pods) == 0 {
		return nil
	}
	byPod, found := p.byLabel[policy.Label], make([]string, 0, len(one.pods))
	for _, slice := range one.slices {
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			tag := byPod[types.UID(podUID(endpoint.TargetRef))].tag
			if tag != "" && !is(endpoint.Conditions.Terminating) {
				found = append(found, tag)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// byTag divides endpoints by the tags of their pods, in the order of the tags. Those whose pod has none of them, or is
// not known, are left out.
func (p *podTags) byTag(one *entry, tags []string, all []dynamic.Endpoint) [][]dynamic.Endpoint {
	byPod := p.byLabel[p.namespaces[one.of.namespace].Label]
	places, counts := make([]int, len(all)), make([]int, len(tags))
	for i := range all {
		places[i] = -1
		if tag := byPod[types.UID(all[i].UID)].tag; tag != "" && all[i].UID != "" {
			if place, ok := slices.BinarySearch(tags, tag); ok {
				places[i] = place
				counts[place]++
			}
		}
	}
	memory, divided := make([]dynamic.Endpoint, len(all)), make([][]dynamic.Endpoint, len(tags))
	for place, count := range counts {
		divided[place], memory = memory[:0:count], memory[count:]
	}
	for i, place := range places {
		if place >= 0 {
			divided[place] = append(divided[place], all[i])
		}
	}
	return divided
}

// divide returns how a port is divided by the tags, which are not empty: the same as before if nothing has changed.
func (c *sliceCache) divide(one *entry, port int32, tags []string) division {
	policy := c.pods.namespaces[one.of.namespace]
	now := division{policy: policy, tags: tags}
	if policy.Environment.Strict {
		now.known = slices.Sorted(maps.Keys(c.pods.known[scope{one.of.namespace, policy.Label}]))
	}
	if before := find(one.sent, 0, port, ""); before >= 0 && one.sent[before].division.equal(now) {
		return one.sent[before].division
	}
	environment, key := *policy.Environment, c.key(one, port)
	environment.Service, environment.Tags = key, now.known
	environment.Subsets = make([]dynamic.EnvironmentSubset, 0, len(tags))
	for _, tag := range tags {
		environment.Subsets = append(environment.Subsets, dynamic.EnvironmentSubset{Tag: tag, Service: subsetKey(key, tag)})
	}
	now.environment = &environment
	return now
}

// division is how a port of a Service is divided, and what that was made of. Its zero value is that of a port that is
// not divided.
type division struct {
	environment *dynamic.Environment
	policy      *virtualenvironment.Policy
	tags, known []string
}

// equal reports whether two divisions are made of the same.
func (d division) equal(other division) bool {
	return d.policy == other.policy && slices.Equal(d.tags, other.tags) && slices.Equal(d.known, other.known)
}

// subsetKey returns the key of the endpoint set of one environment of a Service's port.
func subsetKey(key, tag string) string { return key + "#" + tag }
