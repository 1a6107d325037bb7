package docker

import (
	"fmt"
	"testing"
)

// BenchmarkAssemble puts the state of a thousand containers together, as after each event.
func BenchmarkAssemble(b *testing.B) {
	p := newTestProvider(b, nil)
	for i := range 1000 {
		name := fmt.Sprintf("web-%d", i)
		one := fakeContainer(name, fmt.Sprintf("198.51.%d.%d", 100+i/250, 1+i%250),
			"traefik.http.routers."+name+".rule", "Host(`"+name+".example`)",
			"traefik.http.services."+name+".loadbalancer.server.port", "8080")
		one.ID = fmt.Sprintf("%064d", i)
		p.containers[one.ID] = newContainer(one, p.memory.read)
	}
	p.memory.objects = p.assemble().objects
	b.ReportAllocs()
	for b.Loop() {
		p.memory.objects = p.assemble().objects
	}
}
