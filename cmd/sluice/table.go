package main

import (
	"cmp"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/router"
)

// narrowest is the least width to which a column is shortened.
const narrowest = 8

// printRoutes writes the effective table, with columns shortened to fit the width, if that is not 0. What is empty is
// written as -, so that columns can be counted.
func printRoutes(out io.Writer, listings []router.Listing, width int) {
	rows := [][]string{{"ROUTER", "ENTRYPOINTS", "TLS", "PRIORITY", "RULE", "MIDDLEWARES", "SERVICE", "STATUS"}}
	for _, listing := range listings {
		status, secure := listing.Status, "no"
		if listing.Reason != "" {
			status += ": " + listing.Reason
		}
		if listing.TLS {
			secure = "yes"
		}
		row := []string{
			listing.Name, strings.Join(listing.EntryPoints, ","), secure, strconv.Itoa(listing.Priority), listing.Rule,
			cmp.Or(strings.Join(listing.Middlewares, ","), "-"), cmp.Or(listing.Service, "-"), status,
		}
		for i := range row {
			row[i] = onOneLine(row[i])
		}
		rows = append(rows, row)
	}
	fit(rows, width)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, strings.Join(row, "\t")+"\n")
	}
	_ = table.Flush()
}

// fit shortens the widest columns until the rows, with two spaces between columns, fit the width.
func fit(rows [][]string, width int) {
	if width == 0 {
		return
	}
	widths := make([]int, len(rows[0]))
	total := 2 * (len(widths) - 1)
	for i := range widths {
		for _, row := range rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
		total += widths[i]
	}
	for ; total > width; total-- {
		widest := 0
		for i := range widths {
			if widths[i] > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= narrowest {
			break
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i := range row {
			row[i] = shortened(row[i], widths[i])
		}
	}
}

// shortened cuts a text to a number of characters, the last of which then is an ellipsis.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
