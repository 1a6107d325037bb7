package static

// otlpServiceName is the service name that is sent by default.
const otlpServiceName = "traefik"

// OTLP sends telemetry to an OpenTelemetry collector.
type OTLP struct {
	ServiceName        string            `json:"serviceName" description:"Name under which Sluice appears (service.name)."`
	ResourceAttributes map[string]string `json:"resourceAttributes" description:"Further attributes of the resource."`
	GRPC               *OTLPGRPC         `json:"grpc" description:"The collector, reached by gRPC; it takes precedence over http."`
	HTTP               *OTLPHTTP         `json:"http" description:"The collector, reached by HTTP."`
}

// SetDefaults names the service.
func (o *OTLP) SetDefaults() {
	o.ServiceName = otlpServiceName
}

// OTLPGRPC is a collector that is reached by gRPC.
type OTLPGRPC struct {
	Endpoint string            `json:"endpoint" description:"Address of the collector, host:port." secret:"host"`
	Insecure bool              `json:"insecure" description:"Speak gRPC without TLS."`
	TLS      *ClientTLS        `json:"tls" description:"TLS towards the collector."`
	Headers  map[string]string `json:"headers" description:"Headers that are sent along, such as an API key." secret:"true"`
}

// SetDefaults reaches the local collector.
func (o *OTLPGRPC) SetDefaults() {
	o.Endpoint = "localhost:4317"
}

// OTLPHTTP is a collector that is reached by HTTP.
type OTLPHTTP struct {
	Endpoint string            `json:"endpoint" description:"URL of the collector; /v1/traces, /v1/metrics or /v1/logs is appended where it has no path." secret:"host"`
	TLS      *ClientTLS        `json:"tls" description:"TLS towards the collector."`
	Headers  map[string]string `json:"headers" description:"Headers that are sent along, such as an API key." secret:"true"`
}

// SetDefaults reaches the local collector.
func (o *OTLPHTTP) SetDefaults() {
	o.Endpoint = "https://localhost:4318"
}

// MetricOTLP sends metrics to an OpenTelemetry collector.
type MetricOTLP struct {
	GRPC                 *OTLPGRPC         `json:"grpc" description:"The collector, reached by gRPC; it takes precedence over http."`
	HTTP                 *OTLPHTTP         `json:"http" description:"The collector, reached by HTTP."`
	AddEntryPointsLabels bool              `json:"addEntryPointsLabels" description:"Send the metrics of entrypoints."`
	AddRoutersLabels     bool              `json:"addRoutersLabels" description:"Send the metrics of routers."`
	AddServicesLabels    bool              `json:"addServicesLabels" description:"Send the metrics of services."`
	ExplicitBoundaries   []float64         `json:"explicitBoundaries" description:"Upper bounds of the buckets of durations, in seconds."`
	PushInterval         Duration          `json:"pushInterval" description:"How often metrics are sent."`
	ServiceName          string            `json:"serviceName" description:"Name under which Sluice appears (service.name)."`
	ResourceAttributes   map[string]string `json:"resourceAttributes" description:"Further attributes of the resource."`
}

// SetDefaults sends the metrics of entrypoints and services.
func (o *MetricOTLP) SetDefaults() {
	o.AddEntryPointsLabels = true
	o.AddServicesLabels = true
	o.ExplicitBoundaries = []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10}
	o.PushInterval = pushInterval
	o.ServiceName = otlpServiceName
}

// Tracing sends traces of requests.
type Tracing struct {
	ServiceName             string            `json:"serviceName" description:"Name under which Sluice appears (service.name)."`
	ResourceAttributes      map[string]string `json:"resourceAttributes" description:"Further attributes of the resource."`
	GlobalAttributes        map[string]string `json:"globalAttributes" description:"Deprecated name of resourceAttributes."`
	CapturedRequestHeaders  []string          `json:"capturedRequestHeaders" description:"Request headers that become attributes."`
	CapturedResponseHeaders []string          `json:"capturedResponseHeaders" description:"Response headers that become attributes."`
	SafeQueryParams         []string          `json:"safeQueryParams" description:"Query parameters whose values may be shown; those of others are REDACTED."`
	SampleRate              float64           `json:"sampleRate" description:"Share of the requests that are traced, where the client has not decided, from 0 to 1."`
	AddInternals            bool              `json:"addInternals" description:"Trace the requests to Sluice's own services too."`
	OTLP                    *TracingOTLP      `json:"otlp" description:"The collector."`
}

// SetDefaults samples every request.
func (t *Tracing) SetDefaults() {
	t.ServiceName = otlpServiceName
	t.SampleRate = 1
}

// TracingOTLP is the collector of traces.
type TracingOTLP struct {
	GRPC *OTLPGRPC `json:"grpc" description:"The collector, reached by gRPC; it takes precedence over http."`
	HTTP *OTLPHTTP `json:"http" description:"The collector, reached by HTTP."`
}
