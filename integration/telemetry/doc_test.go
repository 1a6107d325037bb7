// Package telemetry tests metrics, access log, traces and log of the built binary: real clients of each protocol send
// requests of known number, size and outcome, which scrapes, files and OpenTelemetry collectors must show. Slow or
// blocked readers must not affect requests. The options of each part are tested in its package.
package telemetry
