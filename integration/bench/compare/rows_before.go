package main

const (
	// beforeTurns is the factor of the duration of rows that compare two binaries in turns.
	beforeTurns = 4
	// beforeBound is the maximum ratio of CPU per request to that of the earlier binary.
	beforeBound = 1.02
)

// before returns rows that compare an earlier binary with the measured one: both run side by side with the
// configuration of the row's last contestant. Rows are left out if their load cannot take turns, if they need both
// cores, or if they change the configuration while they run.
func before(rows []row, binary string) []row {
	var out []row
	for _, row := range rows {
		if !takesTurns(row.load) {
			continue
		}
		own := row.contestants[len(row.contestants)-1]
		if own.meanwhile != nil || own.cores != proxyCore {
			continue
		}
		earlier := own
		earlier.name, earlier.binary = "sluice-base", binary
		own.name = "sluice"
		row.contestants = []contestant{earlier, own}
		row.turns = max(row.turns, beforeTurns)
		row.must = []bound{{metric: row.bounds()[0].metric, most: beforeBound}}
		out = append(out, row)
	}
	return out
}

// takesTurns reports whether a load is one process that can be stopped and continued.
func takesTurns(load load) bool {
	switch load.(type) {
	case closed, streams, shaken, relay:
		return true
	}
	return false
}
