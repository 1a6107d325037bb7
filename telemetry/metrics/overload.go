package metrics

import "github.com/prometheus/client_golang/prometheus"

// Overload is the state of the overload manager.
type Overload struct {
	// Pressures has the pressure of each monitor, 0 to 1.
	Pressures map[string]float64
	// Active says for each action whether it is under way, and Begun how often it has begun.
	Active map[string]bool
	Begun  map[string]uint64
	// Shed has the refused requests of each priority class.
	Shed map[string]uint64
	// Reset is how many requests were ended because they held the most memory.
	Reset uint64
}

// overloadCollector exposes an Overload as it is at the scrape.
type overloadCollector struct {
	read                                     func() Overload
	pressure, active, begun, requests, reset *prometheus.Desc
}

// NewOverload returns a collector of the state that read returns.
func NewOverload(read func() Overload) prometheus.Collector {
	return &overloadCollector{
		read: read,
		pressure: prometheus.NewDesc("sluice_overload_pressure",
			"Pressure on a resource, of which 1 is the limit.", []string{"monitor"}, nil),
		active: prometheus.NewDesc("sluice_overload_active",
			"Whether an action against overload is under way.", []string{"action"}, nil),
		begun: prometheus.NewDesc("sluice_overload_transitions_total",
			"Times that an action against overload has begun.", []string{"action"}, nil),
		requests: prometheus.NewDesc("sluice_overload_shed_total",
			"Requests refused because of overload, by priority class.", []string{"class"}, nil),
		reset: prometheus.NewDesc("sluice_overload_reset_total",
			"Requests ended because they held the most memory.", nil, nil),
	}
}

// Describe sends the descriptions of the families.
func (c *overloadCollector) Describe(to chan<- *prometheus.Desc) {
	to <- c.pressure
	to <- c.active
	to <- c.begun
	to <- c.requests
	to <- c.reset
}

// Collect sends the state.
func (c *overloadCollector) Collect(to chan<- prometheus.Metric) {
	state := c.read()
	for name, pressure := range state.Pressures {
		to <- prometheus.MustNewConstMetric(c.pressure, prometheus.GaugeValue, pressure, name)
	}
	for name, active := range state.Active {
		value := 0.0
		if active {
			value = 1
		}
		to <- prometheus.MustNewConstMetric(c.active, prometheus.GaugeValue, value, name)
	}
	for name, begun := range state.Begun {
		to <- prometheus.MustNewConstMetric(c.begun, prometheus.CounterValue, float64(begun), name)
	}
	for name, requests := range state.Shed {
		to <- prometheus.MustNewConstMetric(c.requests, prometheus.CounterValue, float64(requests), name)
	}
	to <- prometheus.MustNewConstMetric(c.reset, prometheus.CounterValue, float64(state.Reset))
}

// OpenConnections returns how many connections of clients are open on all entrypoints, of TCP and of HTTP/3. It takes
// the lock of the series.
func (set *SeriesSet) OpenConnections() int64 {
	set.mu.Lock()
	defer set.mu.Unlock()
	var open int64
	for _, entrypoint := range set.entrypoints {
		open += entrypoint.openConnections()
	}
	return open
}
