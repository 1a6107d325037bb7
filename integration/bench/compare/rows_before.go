package main

const (
	// beforeTurns is how many times as long a row takes in which two binaries are compared in turns.
	beforeTurns = 4
	// beforeBound is the highest ratio of CPU per request to that of the earlier binary.
	beforeBound = 1.02
)

// before returns the rows as comparisons of an earlier binary with the one that is measured: both run side by side
// with the configuration that the row gives to its last contestant. Rows whose load cannot take turns, and rows that
// need both cores or change the configuration while they run, are left out.
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
		row.must = []bound{{metric: cpu, most: beforeBound}}
		out = append(out, row)
	}
	return out
}

// takesTurns reports whether a load consists of one process that can be stopped and continued.
func takesTurns(load load) bool {
	switch load.(type) {
	case closed, streams, shaken:
		return true
	}
	return false
}
