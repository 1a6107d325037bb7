package metrics

// TrafficKind is a kind of object that has traffic.
type TrafficKind uint8

// The kinds.
const (
	// TrafficEntrypoints selects entrypoints.
	TrafficEntrypoints TrafficKind = iota
	// TrafficRouters selects routers.
	TrafficRouters
	// TrafficServices selects services.
	TrafficServices
)

// Traffic is the traffic of an entrypoint, router or service since the start. The difference of two values is a rate.
type Traffic struct {
	// Name is the entrypoint's, or name@provider.
	Name string `json:"name"`
	// Requests counts all of them, ClientErrors those with a 4xx and ServerErrors those with a 5xx code.
	Requests     uint64 `json:"requests"`
	ClientErrors uint64 `json:"clientErrors"`
	ServerErrors uint64 `json:"serverErrors"`
	// BytesReceived and BytesSent count the bodies of requests and responses.
	BytesReceived uint64 `json:"bytesReceived"`
	BytesSent     uint64 `json:"bytesSent"`
	// OpenConnections are those of an entrypoint now; 0 for others.
	OpenConnections int64 `json:"openConnections"`
	// Seconds is the sum of all durations.
	Seconds float64 `json:"seconds"`
	// Buckets has a pair for each range of durations in which there were any: its upper bound in seconds, and
	// how many lie between the bound before (eight of them double a duration) and it.
	Buckets [][2]float64 `json:"buckets"`
}

// add adds a shard.
func (t *Traffic) add(key uint64, c *shard, native []uint64) {
	count := c.native.read(native)
	t.Requests += count
	switch keyStatus(key) / 100 {
	case 4:
		t.ClientErrors += count
	case 5:
		t.ServerErrors += count
	}
	t.BytesReceived += c.received.Load()
	t.BytesSent += c.sent.Load()
	t.Seconds += float64(c.ticks.Load()) * tick.Seconds()
}
