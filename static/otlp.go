package static

// otlpServiceName is the service name that is sent by default.
const otlpServiceName = "traefik"

// OTLP sends telemetry to an OpenTelemetry collector.
type OTLP struct {
	ServiceName        string            `json:"serviceName"`
	ResourceAttributes map[string]string `json:"resourceAttributes"`
	GRPC               *OTLPGRPC         `json:"grpc"`
	HTTP               *OTLPHTTP         `json:"http"`
}

// SetDefaults names the service.
func (o *OTLP) SetDefaults() {
	o.ServiceName = otlpServiceName
}

// OTLPGRPC is a collector that is reached by gRPC.
type OTLPGRPC struct {
	Endpoint string            `json:"endpoint"`
	Insecure bool              `json:"insecure"`
	TLS      *ClientTLS        `json:"tls"`
	Headers  map[string]string `json:"headers"`
}

// SetDefaults reaches the local collector.
func (o *OTLPGRPC) SetDefaults() {
	o.Endpoint = "localhost:4317"
}

// OTLPHTTP is a collector that is reached by HTTP.
type OTLPHTTP struct {
	Endpoint string            `json:"endpoint"`
	TLS      *ClientTLS        `json:"tls"`
	Headers  map[string]string `json:"headers"`
}

// SetDefaults reaches the local collector.
func (o *OTLPHTTP) SetDefaults() {
	o.Endpoint = "https://localhost:4318"
}

// MetricOTLP sends metrics to an OpenTelemetry collector.
type MetricOTLP struct {
	GRPC                 *OTLPGRPC         `json:"grpc"`
	HTTP                 *OTLPHTTP         `json:"http"`
	AddEntryPointsLabels bool              `json:"addEntryPointsLabels"`
	AddRoutersLabels     bool              `json:"addRoutersLabels"`
	AddServicesLabels    bool              `json:"addServicesLabels"`
	ExplicitBoundaries   []float64         `json:"explicitBoundaries"`
	PushInterval         Duration          `json:"pushInterval"`
	ServiceName          string            `json:"serviceName"`
	ResourceAttributes   map[string]string `json:"resourceAttributes"`
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
	ServiceName             string            `json:"serviceName"`
	ResourceAttributes      map[string]string `json:"resourceAttributes"`
	GlobalAttributes        map[string]string `json:"globalAttributes"`
	CapturedRequestHeaders  []string          `json:"capturedRequestHeaders"`
	CapturedResponseHeaders []string          `json:"capturedResponseHeaders"`
	SafeQueryParams         []string          `json:"safeQueryParams"`
	SampleRate              float64           `json:"sampleRate"`
	AddInternals            bool              `json:"addInternals"`
	OTLP                    *TracingOTLP      `json:"otlp"`
}

// SetDefaults samples every request.
func (t *Tracing) SetDefaults() {
	t.ServiceName = otlpServiceName
	t.SampleRate = 1
}

// TracingOTLP is the collector of traces.
type TracingOTLP struct {
	GRPC *OTLPGRPC `json:"grpc"`
	HTTP *OTLPHTTP `json:"http"`
}
