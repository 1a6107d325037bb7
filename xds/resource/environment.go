package resource

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

// maxRules bounds the routes of an environment service: about twice as many as it has tags, for each header.
const maxRules = 10_000

// checkEnvironment refuses options that clients cannot follow as the router does.
func checkEnvironment(config *dynamic.Environment) error {
	if _, err := environment.New(config); err != nil {
		return fmt.Errorf("environment.%w", err)
	}
	if len(config.Subsets) == 0 && config.Fallback != dynamic.FallbackAny {
		return errors.New("environment.subsets is empty")
	}
	if rules := sizeOf(config); rules > maxRules {
		return fmt.Errorf("its tags and aliases make %d routes, and %d are allowed", rules, maxRules)
	}
	texts := []string{config.Default}
	if config.Strict {
		texts = append(texts, config.Tags...)
	}
	for i := range config.Subsets {
		texts = append(texts, config.Subsets[i].Tag)
	}
	headers := []string{config.Header}
	for i := range config.Aliases {
		if err := checkAlias(&config.Aliases[i]); err != nil {
			return fmt.Errorf("environment.aliases[%d]: %w", i, err)
		}
		headers = append(headers, config.Aliases[i].Name)
		texts = append(texts, config.Aliases[i].Pattern, config.Aliases[i].Placeholder)
	}
	for _, one := range texts {
		if !printable(one) {
			return fmt.Errorf("%q in its options is not text", one)
		}
	}
	for _, one := range headers {
		if !routable(one) {
			return fmt.Errorf("clients do not route by the header %q", one)
		}
	}
	return nil
}

// routable reports whether gRPC clients can match a header: not binary ones, and not those that they set themselves or
// use for the protocol (gRFC A28). Host is not among the headers that the router reads.
func routable(header string) bool {
	name := strings.ToLower(header)
	switch name {
	case "content-type", "host", "te", "user-agent":
		return false
	}
	return !strings.HasSuffix(name, "-bin") && !strings.HasPrefix(name, "grpc-")
}

// environment translates a service that selects by the environment of a request.
func (t *translator) environment(name string, config *dynamic.Environment) (*target, error) {
	if err := checkEnvironment(config); err != nil {
		return nil, err
	}
	translate := t.child
	if config.Exists == dynamic.ExistsReady {
		translate = t.single
	}
	subsets := make([]*target, 0, len(config.Subsets))
	for i := range config.Subsets {
		child, err := translate(name, config.Subsets[i].Service)
		if err != nil {
			return nil, err
		}
		subsets = append(subsets, child)
	}
	var all *target
	if config.Fallback == dynamic.FallbackAny {
		var err error
		if all, err = t.single(name, config.Service); err != nil {
			return nil, err
		}
	}
	return t.choose(name, config, subsets, all)
}

// divided translates an endpoint set that is divided into environments, whose services are keys of endpoint sets.
func (t *translator) divided(name string, by *dynamic.Environment) (*target, error) {
	if err := checkEnvironment(by); err != nil {
		return nil, err
	}
	clusterOf := func(name, key string) (*target, error) {
		if !printable(key) {
			return nil, fmt.Errorf("the name %q of an endpoint set is not text", key)
		}
		published := edsCluster(name, key)
		policy{}.apply(published)
		t.clusters[name] = &cluster{Cluster: published}
		return &target{splits: []split{{name, unit()}}}, nil
	}
	subsets := make([]*target, 0, len(by.Subsets))
	for _, one := range by.Subsets {
		child, err := clusterOf(name+"#"+one.Tag, one.Service)
		if err != nil {
			return nil, err
		}
		subsets = append(subsets, child)
	}
	var all *target
	if by.Fallback == dynamic.FallbackAny {
		var err error
		if all, err = clusterOf(name, by.Service); err != nil {
			return nil, err
		}
	}
	return t.choose(name, by, subsets, all)
}

// choose returns the target that divides requests among those of the subsets, and the one with the endpoints of all
// environments, which is nil without the fallback any.
func (t *translator) choose(name string, config *dynamic.Environment, subsets []*target, all *target) (*target, error) {
	made := newChoice(name, publishedOptions(config), subsets)
	t.clusters[noneOf(name)] = pool{}.cluster(noneOf(name), policy{})
	if all != nil {
		made.options.Service = all.splits[0].cluster
	}
	var err error
	if made.options.Exists == dynamic.ExistsReady {
		err = t.chooseReady(name, made, subsets, all)
	} else {
		made.standard, err = made.standardOf(all)
	}
	if err != nil {
		return nil, err
	}
	return &target{choice: made}, nil
}

// publishedOptions returns a copy of the options without those that have no effect, and without services.
func publishedOptions(config *dynamic.Environment) *dynamic.Environment {
	options := *config
	options.Service, options.Subsets = "", make([]dynamic.EnvironmentSubset, 0, len(config.Subsets))
	if !options.Strict {
		options.Tags = nil
	}
	for i := range config.Subsets {
		options.Subsets = append(options.Subsets, dynamic.EnvironmentSubset{Tag: config.Subsets[i].Tag})
	}
	return &options
}

// standardOf returns what answers requests without a tag where each subset exists. Its hash policies are for the
// service of all endpoints too, which has no route of its own beside the subset of the default.
func (c *choice) standardOf(all *target) (*target, error) {
	i, ok := c.places()[c.options.Default]
	switch {
	case !ok && all != nil:
		return all, nil
	case !ok:
		return c.none, nil
	case all == nil:
		return c.subsets[i], nil
	}
	hashing, err := join(c.subsets[i].hashing, all.hashing)
	if err != nil {
		return nil, err
	}
	return &target{splits: c.subsets[i].splits, mirrors: c.subsets[i].mirrors, hashing: hashing}, nil
}

// chooseReady has each tag answered by the first cluster with endpoints: that of its subset, of the nearest ancestors,
// and of the default.
func (t *translator) chooseReady(name string, c *choice, subsets []*target, all *target) error {
	for i := range subsets {
		c.options.Subsets[i].Service = subsets[i].splits[0].cluster
	}
	places := c.places()
	chained := make([]*target, 0, len(subsets))
	for i := range subsets {
		one, err := t.aggregate(name, c, i, append(subsets[:len(subsets):len(subsets)], all), places)
		if err != nil {
			return err
		}
		chained = append(chained, one)
	}
	var err error
	c.standard, err = t.aggregate(name, c, noSubset, append(subsets[:len(subsets):len(subsets)], all), places)
	c.subsets = chained
	return err
}

// noSubset is the index of a subset for requests of which no subset answers the tag.
const noSubset = -1

// chain returns the indexes of what answers the tag of a subset, in order; that of the service of all endpoints is the
// number of the subsets. Without the subset it is what answers requests without a tag.
func (c *choice) chain(subset int, places map[string]int) []int {
	var chain []int
	if subset != noSubset {
		chain = append([]int{subset}, c.ancestors(c.options.Subsets[subset].Tag, places)...)
		if c.options.Fallback == dynamic.FallbackReject {
			return chain
		}
	}
	if i, ok := places[c.options.Default]; ok {
		chain = append(chain, i)
	}
	if c.options.Fallback == dynamic.FallbackAny {
		chain = append(chain, len(c.options.Subsets))
	}
	return chain
}

// chained returns the name of the cluster for a chain, and the clusters that it is aggregated of: one that is alone
// needs no aggregate. The name is empty if there is none.
func (c *choice) chained(name string, subset int, places map[string]int) (cluster string, members []string) {
	tag := ""
	if subset != noSubset {
		tag = c.options.Subsets[subset].Tag
	}
	for _, i := range c.chain(subset, places) {
		if i == len(c.options.Subsets) {
			members = append(members, c.options.Service)
		} else {
			members = append(members, c.options.Subsets[i].Service)
		}
	}
	switch members = unique(members); len(members) {
	case 0:
		return "", nil
	case 1:
		return members[0], members
	}
	return name + "/" + tag, members
}

// aggregate returns the target for the chain of a subset. The answers are those of the subsets, and of the service of
// all endpoints.
func (t *translator) aggregate(
	name string, c *choice, subset int, answers []*target, places map[string]int,
) (*target, error) {
	cluster, members := c.chained(name, subset, places)
	if cluster == "" {
		return c.none, nil
	}
	to := &target{splits: []split{{cluster, unit()}}}
	for _, i := range c.chain(subset, places) {
		var err error
		if to.hashing, err = join(to.hashing, answers[i].hashing); err != nil {
			return nil, err
		}
	}
	if len(members) > 1 {
		t.addAggregate(cluster, members)
	}
	return to, nil
}
