package translation

// What Counters counts, as part of the metric's name: sluice_provider_<what>_total.
const (
	// Events are notes that an object of a translated kind appeared, changed or went.
	Events = "events"
	// Builds are translations of one object.
	Builds = "builds"
	// Pushes are builds that changed the configuration.
	Pushes = "pushes"
	// Drops are builds that changed nothing.
	Drops = "drops"
)

// Counters counts what happens to the objects of a provider. It is safe for use by several goroutines.
type Counters interface {
	// CountProvider adds n to sluice_provider_<what>_total{provider, kind}. What is Events, Builds, Pushes or Drops; kind
	// is the Kind of a Source.
	CountProvider(what, provider, kind string, n int)
}

// uncounted counts nothing.
type uncounted struct{}

func (uncounted) CountProvider(string, string, string, int) {}
