package telemetry

// Series counts the requests of one entrypoint, router or service. It is resolved when the configuration is compiled, so that nothing is
// looked up by name for a request. A nil Series counts nothing.
type Series struct{}
