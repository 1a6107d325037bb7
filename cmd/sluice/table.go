package main

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/router"
)

// narrowest is the least width to which a column is shortened. Columns that would have to be shorter are written as
// lines.
const narrowest = 16

// printRoutes writes the effective table, with columns shortened to fit the width, if that is not 0. Where they do not
// fit, each router has one line for each column. What is empty is written as -, so that columns can be counted.
func printRoutes(out io.Writer, listings []router.Listing, width int) {
	rows := [][]string{{"ROUTER", "ENTRYPOINTS", "TLS", "PRIORITY", "RULE", "MIDDLEWARES", "SERVICE", "STATUS"}}
	for _, listing := range listings {
		status, secure := listing.Status, "no"
		if listing.Reason != "" {
			status += ": " + listing.Reason
		}
		switch {
		case listing.Passthrough:
			secure = "passthrough"
		case listing.TLS:
			secure = "yes"
		}
		row := []string{
			listing.Name, strings.Join(listing.EntryPoints, ","), secure, strconv.Itoa(listing.Priority),
			cmp.Or(listing.Rule, "every datagram"),
			cmp.Or(strings.Join(listing.Middlewares, ","), "-"), cmp.Or(listing.Service, "-"), status,
		}
		rows = append(rows, row)
	}
	printFitted(out, rows, width)
}

// printFitted writes a table with columns shortened to fit the width, if that is not 0. Where they do not fit, it is
// stacked.
func printFitted(out io.Writer, rows [][]string, width int) {
	for _, row := range rows {
		for i := range row {
			row[i] = onOneLine(row[i])
		}
	}
	if !fit(rows, width) {
		printStacked(out, rows, width)
		return
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(table, strings.Join(row, "\t")+"\n")
	}
	_ = table.Flush()
}

// printStacked writes each row as its first column and one line for each other column that is not empty.
func printStacked(out io.Writer, rows [][]string, width int) {
	label := 0
	for _, name := range rows[0][1:] {
		label = max(label, utf8.RuneCountInString(name))
	}
	for _, row := range rows[1:] {
		_, _ = io.WriteString(out, strings.Join(folded(row[0], width), "\n")+"\n")
		for i, value := range row[1:] {
			if value == "-" {
				continue
			}
			begin := fmt.Sprintf("  %-*s  ", label, rows[0][i+1])
			lines := folded(value, max(narrowest, width-len(begin)))
			_, _ = io.WriteString(out, begin+strings.Join(lines, "\n"+strings.Repeat(" ", len(begin)))+"\n")
		}
	}
}

// folded breaks a text into lines of at most width characters, at spaces where there are any.
func folded(text string, width int) []string {
	var lines []string
	rest := []rune(text)
	for len(rest) > width {
		end, next := width, width
		for i := width; i > 0; i-- {
			if rest[i] == ' ' {
				end, next = i, i+1
				break
			}
		}
		lines = append(lines, string(rest[:end]))
		rest = rest[next:]
	}
	return append(lines, string(rest))
}

// fit shortens the widest columns until the rows, with two spaces between columns, fit the width, and reports whether
// they do.
func fit(rows [][]string, width int) bool {
	if width == 0 {
		return true
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
			return false
		}
		widths[widest]--
	}
	for _, row := range rows {
		for i := range row {
			row[i] = shortened(row[i], widths[i])
		}
	}
	return true
}

// shortened cuts a text to a number of characters, the last of which then is an ellipsis.
func shortened(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
