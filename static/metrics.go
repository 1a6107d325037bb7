package static

import "time"

// Metrics says where metrics go.
type Metrics struct {
	AddInternals bool        `json:"addInternals" description:"Count the requests to Sluice's own services too."`
	Prometheus   *Prometheus `json:"prometheus" description:"Metrics for Prometheus, under /metrics."`
	Datadog      *Datadog    `json:"datadog" support:"warn"`
	StatsD       *StatsD     `json:"statsD" support:"warn"`
	InfluxDB2    *InfluxDB2  `json:"influxDB2" support:"warn"`
	OTLP         *MetricOTLP `json:"otlp" description:"Push metrics to an OpenTelemetry collector."`
}

// Prometheus serves metrics under /metrics.
type Prometheus struct {
	Buckets              []float64         `json:"buckets" description:"Upper bounds of the buckets of durations, in seconds."`
	AddEntryPointsLabels bool              `json:"addEntryPointsLabels" description:"Record the metrics of entrypoints."`
	AddRoutersLabels     bool              `json:"addRoutersLabels" description:"Record the metrics of routers."`
	AddServicesLabels    bool              `json:"addServicesLabels" description:"Record the metrics of services."`
	EntryPoint           string            `json:"entryPoint" description:"Entrypoint that serves /metrics."`
	ManualRouting        bool              `json:"manualRouting" description:"Serve metrics only through a router that names prometheus@internal."`
	HeaderLabels         map[string]string `json:"headerLabels" description:"Labels that are taken from headers of the request."`
}

// SetDefaults serves metrics of entrypoints and services on the internal entrypoint.
func (p *Prometheus) SetDefaults() {
	p.Buckets = []float64{0.1, 0.3, 1.2, 5}
	p.AddEntryPointsLabels = true
	p.AddServicesLabels = true
	p.EntryPoint = InternalEntryPoint
}

// pushInterval is how often metrics are pushed by default.
const pushInterval = Duration(10 * time.Second)

// Datadog pushes metrics to Datadog's agent.
type Datadog struct {
	Address              string   `json:"address" secret:"url"`
	PushInterval         Duration `json:"pushInterval"`
	AddEntryPointsLabels bool     `json:"addEntryPointsLabels"`
	AddRoutersLabels     bool     `json:"addRoutersLabels"`
	AddServicesLabels    bool     `json:"addServicesLabels"`
	Prefix               string   `json:"prefix"`
}

// SetDefaults pushes to the local agent.
func (d *Datadog) SetDefaults() {
	d.Address = "localhost:8125"
	d.PushInterval = pushInterval
	d.AddEntryPointsLabels = true
	d.AddServicesLabels = true
	d.Prefix = "traefik"
}

// StatsD pushes metrics to a StatsD server.
type StatsD struct {
	Address              string   `json:"address" secret:"url"`
	PushInterval         Duration `json:"pushInterval"`
	AddEntryPointsLabels bool     `json:"addEntryPointsLabels"`
	AddRoutersLabels     bool     `json:"addRoutersLabels"`
	AddServicesLabels    bool     `json:"addServicesLabels"`
	Prefix               string   `json:"prefix"`
}

// SetDefaults pushes to the local server.
func (s *StatsD) SetDefaults() {
	s.Address = "localhost:8125"
	s.PushInterval = pushInterval
	s.AddEntryPointsLabels = true
	s.AddServicesLabels = true
	s.Prefix = "traefik"
}

// InfluxDB2 pushes metrics to InfluxDB.
type InfluxDB2 struct {
	Address              string            `json:"address" secret:"url"`
	Token                string            `json:"token" secret:"true"`
	PushInterval         Duration          `json:"pushInterval"`
	Org                  string            `json:"org"`
	Bucket               string            `json:"bucket"`
	AddEntryPointsLabels bool              `json:"addEntryPointsLabels"`
	AddRoutersLabels     bool              `json:"addRoutersLabels"`
	AddServicesLabels    bool              `json:"addServicesLabels"`
	AdditionalLabels     map[string]string `json:"additionalLabels"`
}

// SetDefaults pushes to the local server.
func (i *InfluxDB2) SetDefaults() {
	i.Address = "http://localhost:8086"
	i.PushInterval = pushInterval
	i.AddEntryPointsLabels = true
	i.AddServicesLabels = true
}
