package main

import (
	"io"

	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// printFindings writes the findings that an operator should act on, one a line.
func printFindings(out io.Writer, findings []static.Finding) {
	for _, finding := range findings {
		switch finding.Severity {
		case static.Error:
			say(out, "%s\n", finding)
		case static.Warning:
			say(out, "%s (warning)\n", finding)
		case static.Debug:
		}
	}
}

// logFindings logs what does not keep Sluice from starting.
func logFindings(logger telemetry.Logger, findings []static.Finding) {
	for _, finding := range findings {
		if finding.Severity == static.Debug {
			logger.Debug(finding.String())
		} else {
			logger.Warn(finding.String())
		}
	}
}
