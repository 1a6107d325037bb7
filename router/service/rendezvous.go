package service

import (
	"math"
	"net"
	"net/http"

	"github.com/sluiceproxy/sluice/telemetry"
)

// HighestRandomWeightOptions are the options of a highestRandomWeight service.
type HighestRandomWeightOptions struct {
	// Name is the service's qualified name.
	Name string
	// Children share the clients by their weights.
	Children []Child
	// HealthCheck passes over children that are down (healthCheck); without it all count as up.
	HealthCheck bool
}

// HighestRandomWeight hands all requests of one client address to the same one of several services, by
// rendezvous hashing: when a child goes, only its own clients move. Every instance comes to the same result, at
// every start.
//
// As in Traefik the hash is FNV-64a over the client's address and the child's name, and the score of a child
// its weight / -ln(hash / 2^64). But between the two the bits of the hash are mixed: names that differ in their
// last characters alone, as app-v1 and app-v2 do, have nearly the same FNV-64a, so that in Traefik the heavier
// one gets all clients.
type HighestRandomWeight struct{ options HighestRandomWeightOptions }

// NewHighestRandomWeight returns the handler of a highestRandomWeight service.
func NewHighestRandomWeight(options HighestRandomWeightOptions) *HighestRandomWeight {
	return &HighestRandomWeight{options: options}
}

// Up reports whether a child with a weight above 0 is up.
func (h *HighestRandomWeight) Up() bool { return anyUp(h.options.Children) }

// ServeHTTP hands the request on. It answers 503 when there is no child with a weight above 0, or with health
// checks none that is up.
func (h *HighestRandomWeight) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	child := h.choose(clientOf(r))
	if child < 0 {
		refuse(w, r, h.options.Name, "no service of the highestRandomWeight service is up and has a weight above 0")
		return
	}
	h.options.Children[child].Handler.ServeHTTP(w, r)
}

// choose returns the child with the highest score, the first one of equals, or -1.
func (h *HighestRandomWeight) choose(client string) int {
	chosen, highest := -1, 0.0
	seed := fnv64a(fnvOffset, client)
	for i := range h.options.Children {
		child := &h.options.Children[i]
		if child.Weight <= 0 || h.options.HealthCheck && !child.up() {
			continue
		}
		if score := score(mix(fnv64a(seed, child.Name)), child.Weight); chosen < 0 || score > highest {
			chosen, highest = i, score
		}
	}
	return chosen
}

func score(hash uint64, weight int) float64 {
	return 1 / -math.Log(float64(hash)/(1<<64)) * float64(weight)
}

// The parameters of FNV-64a.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// fnv64a goes on with a hash that began with seed.
func fnv64a(seed uint64, text string) uint64 {
	for i := range len(text) {
		seed = (seed ^ uint64(text[i])) * fnvPrime
	}
	return seed
}

// mix spreads each bit over all others; it is the last step of MurmurHash3.
func mix(hash uint64) uint64 {
	hash = (hash ^ hash>>33) * 0xff51afd7ed558ccd
	hash = (hash ^ hash>>33) * 0xc4ceb9fe1a85ec53
	return hash ^ hash>>33
}

// clientOf returns the client's address without a port.
func clientOf(r *http.Request) string {
	if client := telemetry.RecordFrom(r.Context()).Client; client != "" {
		return client
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}
