// Package operations tests what operators rely on: the log of the built binary, the rules and the dashboard in deploy,
// and that dashboards for Traefik work. Expressions are evaluated by Prometheus' own engine on scrapes of a Sluice with
// traffic, or on scrapes made for one alert.
package operations
