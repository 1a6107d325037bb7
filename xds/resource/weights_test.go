package resource_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/sluiceproxy/sluice/dynamic"
)

// leaves returns services a@file, b@file and so on with a server each.
func leaves(t *testing.T, count int) services {
	t.Helper()
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "%c: {loadBalancer: {servers: [{url: \"http://192.0.2.%d\"}]}}\n", 'a'+i, i+1)
	}
	return parse(t, text.String())
}

func weightedOf(weights ...int) *dynamic.Service {
	config := &dynamic.WeightedRoundRobin{}
	for i := range weights {
		config.Services = append(config.Services, dynamic.WeightedService{Name: string(rune('a' + i)), Weight: &weights[i]})
	}
	return &dynamic.Service{Weighted: config}
}

func clustersOf(t *testing.T, all services) []*routev3.WeightedCluster_ClusterWeight {
	t.Helper()
	bundle, _, err := all.translate("svc@file")
	if err != nil {
		t.Fatal(err)
	}
	action := bundle.Routes[0].GetVirtualHosts()[0].GetRoutes()[0].GetRoute()
	return action.GetWeightedClusters().GetClusters()
}

func TestWeightsOfClusters(t *testing.T) {
	for _, test := range []struct{ weights, want []int }{
		{[]int{1, 1}, []int{1, 1}},
		{[]int{50, 0, 100}, []int{1, 2}},
		{[]int{math.MaxUint32 - 1, 1}, []int{math.MaxUint32 - 1, 1}},
		{[]int{math.MaxUint32, 1}, []int{math.MaxUint32 - 3, 1}},
		{[]int{math.MaxInt, math.MaxInt - 1}, []int{(math.MaxUint32 - 2) / 2, (math.MaxUint32 - 2) / 2}},
	} {
		all := leaves(t, len(test.weights))
		all["svc@file"] = weightedOf(test.weights...)
		var got []int
		for _, one := range clustersOf(t, all) {
			got = append(got, int(one.GetWeight().GetValue()))
		}
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%v: the weights are %v, expected %v", test.weights, got, test.want)
		}
	}
}

// FuzzNestedWeights compares the shares of nested services with those of Sluice, which chooses at each level.
func FuzzNestedWeights(f *testing.F) {
	f.Add(1, 2, 3, 4, 5)
	f.Add(1, 1, 0, 0, 7)
	f.Add(math.MaxInt, 1, math.MaxInt, 3, 1)
	f.Fuzz(func(t *testing.T, a, b, c, d, e int) {
		all := leaves(t, 3)
		all["nested@file"] = weightedOf(a, b, c)
		outer := weightedOf(d, e)
		outer.Weighted.Services[1].Name = "nested"
		all["svc@file"] = outer
		bundle, _, err := all.translate("svc@file")
		if err != nil {
			return
		}
		valid(t, bundle.Routes[0])
		share := func(weight int, of ...int) float64 {
			sum := 0.
			for _, one := range of {
				sum += float64(one)
			}
			return float64(weight) / sum
		}
		want := map[string]float64{"a@file": share(d, d, e)}
		for name, weight := range map[string]int{"a@file": a, "b@file": b, "c@file": c} {
			if e > 0 {
				want[name] += share(e, d, e) * share(weight, a, b, c)
			}
		}
		sum, got := uint64(0), map[string]float64{}
		for _, one := range clustersOf(t, all) {
			sum += uint64(one.GetWeight().GetValue())
		}
		if sum > math.MaxUint32 {
			t.Fatalf("the sum of the weights is %d", sum)
		}
		for _, one := range clustersOf(t, all) {
			got[one.GetName()] = float64(one.GetWeight().GetValue()) / float64(sum)
		}
		for name, share := range want {
			if sum > 0 && math.Abs(share-got[name]) > 1e-6 {
				t.Errorf("%s gets %f, expected %f", name, got[name], share)
			}
		}
	})
}
