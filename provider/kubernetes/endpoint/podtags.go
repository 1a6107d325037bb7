package endpoint

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
)

// podTags holds the tags of pods, and which Services have which pods. It is used under the lock of the cache.
type podTags struct {
	// tags are those of the pods with the label of a namespace, by their uid.
	tags map[podScope]map[types.UID]string
	// counts are the numbers of pods with each tag.
	counts map[podScope]map[string]int
	// users are the Services behind which a pod is, in namespaces with a policy.
	users map[types.UID][]*entry
	// policies are those that are applied, by namespace.
	policies map[string]*virtualenvironment.Policy
}

// podScope is a namespace and the key of the label that holds the tags of its pods.
type podScope struct{ namespace, label string }

func newPodTags() *podTags {
	return &podTags{
		tags: map[podScope]map[types.UID]string{}, counts: map[podScope]map[string]int{},
		users: map[types.UID][]*entry{}, policies: map[string]*virtualenvironment.Policy{},
	}
}

// pod notes a change of a pod with a label, and marks the Services that it concerns. Most changes concern none: pods
// are written far more often than their labels.
func (c *sliceCache) pod(in podScope, before, after *metav1.PartialObjectMetadata) {
	c.mu.Lock()
	if before != nil && (after == nil || before.UID != after.UID) {
		c.retag(in, before.UID, "")
	}
	if after != nil {
		c.retag(in, after.UID, after.Labels[in.label])
	}
	concerned := len(c.dirty) > 0
	c.mu.Unlock()
	c.count(kindPod)
	if concerned {
		c.changed()
	}
}

// retag gives a pod another tag; an empty one takes it out. The caller holds mu.
func (c *sliceCache) retag(in podScope, uid types.UID, tag string) {
	tags := c.pods.tags[in]
	before := tags[uid]
	if before == tag {
		return
	}
	if tags == nil {
		tags = map[types.UID]string{}
		c.pods.tags[in] = tags
	}
	if tags[uid] = tag; tag == "" {
		delete(tags, uid)
	}
	for _, one := range c.pods.users[uid] {
		c.touch(one, kindPod)
	}
	if c.pods.recount(in, before, tag) && c.pods.strict(in) {
		c.touchAll(in.namespace, kindPod)
	}
}

// recount counts a change of a pod's tag, and reports whether the tags of the namespace have changed.
func (p *podTags) recount(in podScope, before, tag string) (changed bool) {
	counts := p.counts[in]
	if counts == nil {
		counts = map[string]int{}
		p.counts[in] = counts
	}
	if before != "" {
		if counts[before]--; counts[before] == 0 {
			delete(counts, before)
			changed = true
		}
	}
	if tag != "" {
		counts[tag]++
		changed = changed || counts[tag] == 1
	}
	return changed
}

// strict reports whether all tags of a namespace matter to each of its Services.
func (p *podTags) strict(in podScope) bool {
	policy := p.policies[in.namespace]
	return policy != nil && policy.Environment.Strict && policy.Label == in.label
}

// policy applies the policy of a namespace; nil divides none of its Services.
func (c *sliceCache) policy(namespace string, policy *virtualenvironment.Policy) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods.policies[namespace] == policy {
		return
	}
	if c.pods.policies[namespace] = policy; policy == nil {
		delete(c.pods.policies, namespace)
	}
	c.touchAll(namespace, kindEnvironment)
	c.changed()
}

// forget drops the pods with a label of a namespace.
func (c *sliceCache) forget(in podScope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pods.tags, in)
	delete(c.pods.counts, in)
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
	if p.policies[one.of.namespace] == nil {
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

// tagsOf returns the tags of the endpoints of a Service that are not terminating, ready or not, sorted.
func (p *podTags) tagsOf(one *entry) []string {
	policy := p.policies[one.of.namespace]
	if policy == nil || len(one.pods) == 0 {
		return nil
	}
	byPod, found := p.tags[podScope{one.of.namespace, policy.Label}], make([]string, 0, len(one.pods))
	for _, slice := range one.slices {
		for i := range slice.Endpoints {
			endpoint := &slice.Endpoints[i]
			tag := byPod[types.UID(podUID(endpoint.TargetRef))]
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
	byPod := p.tags[podScope{one.of.namespace, p.policies[one.of.namespace].Label}]
	places, counts := make([]int, len(all)), make([]int, len(tags))
	for i := range all {
		places[i] = -1
		if tag := byPod[types.UID(all[i].UID)]; tag != "" && all[i].UID != "" {
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
func (c *sliceCache) divide(one *entry, port int32, tags []string) *division {
	policy := c.pods.policies[one.of.namespace]
	now := &division{policy: policy, tags: tags}
	if policy.Environment.Strict {
		now.known = slices.Sorted(maps.Keys(c.pods.counts[podScope{one.of.namespace, policy.Label}]))
	}
	if at := find(one.sent, 0, &sent{port: port}); at >= 0 {
		if before := one.sent[at].division; before != nil && before.equal(now) {
			return before
		}
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

// division is how a port of a Service is divided, and what that was made of. It does not change.
type division struct {
	environment *dynamic.Environment
	policy      *virtualenvironment.Policy
	tags, known []string
}

// get returns what providers and the pipeline use of the division; nil if there is none.
func (d *division) get() *dynamic.Environment {
	if d == nil {
		return nil
	}
	return d.environment
}

// equal reports whether two divisions are made of the same.
func (d *division) equal(other *division) bool {
	return d.policy == other.policy && slices.Equal(d.tags, other.tags) && slices.Equal(d.known, other.known)
}

// subsetKey returns the key of the endpoint set of one environment of a Service's port.
func subsetKey(key, tag string) string { return key + "#" + tag }
