package loadbalancer_test

import (
	"fmt"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
)

// offline is a transport without connections: the example only picks.
type offline struct{ _ int }

func (*offline) Connect(loadbalancer.UpstreamKey) loadbalancer.Connections { return nil }

func Example() {
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	spec := loadbalancer.PoolSpec{Name: "shop@file", Dialer: &offline{}}
	for address, weight := range map[string]int{"http://192.0.2.1:8080": 3, "http://192.0.2.2:8080": 1} {
		server, err := loadbalancer.NewServerSpec(dynamic.Server{URL: address, Weight: &weight})
		if err != nil {
			fmt.Println(err)
			return
		}
		spec.Servers = append(spec.Servers, server)
	}
	pool := registry.NewPool(spec.Name)
	registry.Configure(pool, spec)
	registry.Flush(time.Now())

	picked := map[string]int{}
	for range 8 {
		member, err := pool.Acquire(&loadbalancer.Request{})
		if err != nil {
			fmt.Println(err)
			return
		}
		picked[member.Address()]++
		member.Done(loadbalancer.Result{Outcome: loadbalancer.Answered})
	}
	fmt.Println(picked)
	// Output: map[192.0.2.1:8080:6 192.0.2.2:8080:2]
}
