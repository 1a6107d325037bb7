package main

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/sluiceproxy/sluice/api/environments"
)

// queryEnvironments returns the environment services of a running Sluice, with what answers the tag, or each tag if it
// is nil.
func queryEnvironments(base string, tag *string) (environments.List, error) {
	list, err := queryEnvironmentPages(base, nil)
	if err != nil {
		return list, err
	}
	if list.MoreTags > 0 {
		list.Tags, list.MoreTags = allTags(list.Services), 0
	}
	at := make(map[string]int, len(list.Services))
	for i := range list.Services {
		at[list.Services[i].Name] = i
	}
	for tags := range slices.Chunk(wanted(tag, list.Tags), environments.MaxRequested) {
		some, err := queryEnvironmentPages(base, tags)
		if err != nil {
			return list, err
		}
		for _, service := range some.Services {
			if i, known := at[service.Name]; known { // It is a new one otherwise.
				list.Services[i].Answers = append(list.Services[i].Answers, service.Answers...)
			}
		}
	}
	return list, nil
}

// queryEnvironmentPages returns the answers of all pages as one.
func queryEnvironmentPages(base string, tags []string) (environments.List, error) {
	const page = 100
	all := environments.List{Services: []environments.Service{}}
	for n := 1; ; n++ {
		var some environments.List
		query := url.Values{"tag": tags, "page": {strconv.Itoa(n)}, "per_page": {strconv.Itoa(page)}}
		if err := queryAPI(base, "environments", query, &some); err != nil {
			return all, err
		}
		all.Tags, all.MoreTags = some.Tags, some.MoreTags
		if all.Services = append(all.Services, some.Services...); len(some.Services) < page {
			return all, nil
		}
	}
}

// allTags returns the sorted tags of services.
func allTags(services []environments.Service) []string {
	var tags []string
	for _, service := range services {
		for _, subset := range service.Subsets {
			tags = append(tags, subset.Tag)
		}
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}
