package otlp

import (
	"context"
	"runtime/debug"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Resource describes the sender: the name and version of the service, this host, operating system, container
// and process, the library, then the given attributes, and last those of the environment
// (OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME); what comes later goes before what came earlier. The command
// line is not a part of it, since options may hold secrets. Unknown attributes are left out.
func Resource(serviceName string, attributes map[string]string) *resource.Resource {
	own := []attribute.KeyValue{attribute.String("service.name", plain(serviceName))}
	if build, ok := debug.ReadBuildInfo(); ok {
		own = append(own, version(build)...)
	}
	for name, value := range attributes {
		own = append(own, attribute.String(plain(name), plain(value)))
	}
	out, _ := resource.New(context.Background(), resource.WithHost(), resource.WithOS(), resource.WithContainer(),
		resource.WithProcessPID(),
		resource.WithProcessExecutableName(), resource.WithProcessRuntimeName(), resource.WithProcessRuntimeVersion(),
		resource.WithTelemetrySDK(), resource.WithAttributes(own...), resource.WithFromEnv())
	return valid(out)
}

// valid returns the resource with texts that are valid UTF-8: a collector refuses the whole batch otherwise.
func valid(from *resource.Resource) *resource.Resource {
	attributes := from.Attributes()
	for i, one := range attributes {
		if one.Value.Type() == attribute.STRING {
			one = attribute.String(string(one.Key), strings.ToValidUTF8(one.Value.AsString(), "\uFFFD"))
		}
		one.Key = attribute.Key(strings.ToValidUTF8(string(one.Key), "\uFFFD"))
		attributes[i] = one
	}
	return resource.NewWithAttributes(from.SchemaURL(), attributes...)
}

// version returns that of the service; none of a build that has none.
func version(build *debug.BuildInfo) []attribute.KeyValue {
	if build.Main.Version == "" || build.Main.Version == "(devel)" {
		return nil
	}
	return []attribute.KeyValue{attribute.String("service.version", build.Main.Version)}
}
