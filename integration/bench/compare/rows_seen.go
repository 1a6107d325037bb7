package main

// seenTurns is the factor of the duration of rows that compare Sluice with and without telemetry.
const seenTurns = 10

// seen returns the rows that measure the cost of telemetry.
func seen(get ask) []row {
	one := func(by, title, what string, most float64) row {
		out := row{
			name: "seen-" + by, title: title, load: closed{connections: 64}, ask: get,
			contestants: observed("sluice-"+by, what), turns: seenTurns,
		}
		if most > 0 {
			out.must = []bound{{metric: cpu, most: most}}
		}
		return out
	}
	return []row{
		one("itself", "Sluice without metrics, logs and traces against itself: the noise of the rows below", "",
			0),
		one("metrics", "Sluice with metrics of entrypoints, routers and services against Sluice without any", "metrics",
			1.03),
		one("push", "Sluice that pushes the same metrics by OTLP every five seconds against Sluice without any", "push",
			1.03),
		one("access-log", "Sluice with an access log as JSON into a file against Sluice without one", "access log", 1.1),
		one("traces", "Sluice that traces one request in a hundred against Sluice that traces none", "traces", 1.03),
	}
}
