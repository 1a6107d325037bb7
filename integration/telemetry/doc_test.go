// Package telemetry tests what the built binary tells of the requests that it answers and of itself: metrics, the
// access log, traces, and its own log.
//
// In flow requests by real clients of each protocol, whose number, sizes and outcome the test knows; out flow scrapes,
// lines of files, and what collectors of OpenTelemetry receive. It proves that they say what happened, and that nobody
// who reads slowly, or not at all, is noticed by those who ask. What a single part does with its options is proved
// beside it.
package telemetry
