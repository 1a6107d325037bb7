// Package operations tests what people on call rely on: the log of the built binary, the rules and the board in deploy,
// and that boards made for Traefik work.
//
// In flow scrapes, of a Sluice with traffic or made up for one alert; out flow the answers of Prometheus' own engine.
// What a line of the log or a metric says is proved beside the code, and never here.
package operations
