package dynamic

import "encoding/json"

// RouterObservability says what is recorded for a router; nil means as the entrypoint says.
type RouterObservability struct {
	// AccessLogs writes the router's requests to the access log. Default: as the entrypoint.
	AccessLogs *bool `json:"accessLogs,omitempty"`
	// Metrics counts the router's requests in the metrics. Default: as the entrypoint.
	Metrics *bool `json:"metrics,omitempty"`
	// Tracing makes spans of the router's requests. Default: as the entrypoint.
	Tracing *bool `json:"tracing,omitempty"`
	// TraceVerbosity is one of minimal (one span for each request and attempt) or detailed (also router, middlewares and
	// service). Default: as the entrypoint.
	TraceVerbosity string `json:"traceVerbosity,omitempty"`
	// Metadata is where the router comes from. Only providers set it.
	Metadata *ObservabilityMetadata `json:"-" label:"-"`
}

// MarshalJSON shows what can be declared, and the metadata.
func (o RouterObservability) MarshalJSON() ([]byte, error) {
	type declared RouterObservability
	return json.Marshal(struct {
		declared
		Metadata *ObservabilityMetadata `json:"metadata,omitempty"`
	}{declared(o), o.Metadata})
}

// ObservabilityMetadata names the object that a router was made of, for the records of its requests.
type ObservabilityMetadata struct {
	// Ingress is set for the routers of Ingresses.
	Ingress *IngressMetadata `json:"ingress,omitempty"`
}

// IngressMetadata is an Ingress of Kubernetes and the backend that one of its routers leads to.
type IngressMetadata struct {
	Namespace   string `json:"namespace,omitempty"`
	IngressName string `json:"ingressName,omitempty"`
	// ServiceName and ServicePort are empty where the backend is no Service. The port is its name, or else its number.
	ServiceName string `json:"serviceName,omitempty"`
	ServicePort string `json:"servicePort,omitempty"`
}
