package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// settings is the parsed command line.
type settings struct {
	// rows are the selected rows with the selected contestants.
	rows []row
	// rounds is the number of rounds.
	rounds int
	// time is the duration of one measurement.
	time time.Duration
	// out is the file of the page; chosen is set if it is the default.
	out    string
	chosen bool
	// partial is set for less than the whole comparison.
	partial bool
	// sluice is the path of the measured binary; tools is the folder of load and backend.
	sluice, tools string
	// base is the path of an earlier binary with which every row is compared in turns; empty for none.
	base string
	// list prints the rows only.
	list bool
	// line is the equivalent command.
	line string
}

// defaultRounds and defaultSeconds are those of a published comparison.
const (
	defaultRounds  = 3
	defaultSeconds = 3
)

func parse(args []string, stderr io.Writer) (settings, error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(stderr)
	names := flags.String("rows", "", "regular expression of the rows to measure; all when it is empty")
	peers := flags.String("proxies", "", "regular expression of the proxies to measure; all when it is empty")
	rounds := flags.Int("rounds", defaultRounds, "how often everything is measured, 1 to 20")
	seconds := flags.Int("seconds", defaultSeconds, "how long one measurement takes, 1 to 60")
	out := flags.String("out", "",
		"file of the page; docs/performance/DATE.md when it is empty, .cache/bench/DATE.md for less than a whole comparison")
	sluice := flags.String("sluice", "dist/sluice", "binary that is measured")
	base := flags.String("base", "",
		"earlier binary of Sluice: each row compares it with -sluice, side by side in turns, instead of with other proxies")
	list := flags.Bool("list", false, "print the rows and end")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	switch {
	case flags.NArg() > 0:
		return settings{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *rounds < 1 || *rounds > 20:
		return settings{}, fmt.Errorf("-rounds is %d, and must be 1 to 20", *rounds)
	case *seconds < 1 || *seconds > 60:
		return settings{}, fmt.Errorf("-seconds is %d, and must be 1 to 60", *seconds)
	}
	all := table()
	earlier := *base
	if earlier != "" {
		var err error
		if earlier, err = filepath.Abs(earlier); err != nil {
			return settings{}, err
		}
		all = before(all, earlier)
	}
	rows, err := choose(all, *names, *peers)
	if err != nil {
		return settings{}, err
	}
	own, err := os.Executable()
	if err != nil {
		return settings{}, err
	}
	binary, err := filepath.Abs(*sluice)
	if err != nil {
		return settings{}, err
	}
	chosen := settings{
		rows: rows, rounds: *rounds, time: time.Duration(*seconds) * time.Second, out: *out, list: *list,
		sluice: binary, base: earlier, tools: filepath.Dir(own),
		partial: *names != "" || *peers != "" || *base != "" || *rounds < defaultRounds || *seconds < defaultSeconds,
		line:    fmt.Sprintf("make bench ROWS='%s' PROXIES='%s' ROUNDS=%d SECONDS=%d", *names, *peers, *rounds, *seconds),
	}
	if *base != "" {
		chosen.line += " BASE=" + filepath.Base(*base)
	}
	if chosen.out == "" {
		chosen.chosen = true
		chosen.out, err = freeName(chosen.partial, time.Now())
	}
	return chosen, err
}

// freeName returns the name of a new file.
func freeName(partial bool, day time.Time) (string, error) {
	folder := "docs/performance"
	if partial {
		folder = ".cache/bench"
	}
	for i := 1; i < 1000; i++ {
		name := day.Format(time.DateOnly)
		if i > 1 {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		file := filepath.Join(folder, name+".md")
		if _, err := os.Stat(file); os.IsNotExist(err) {
			return file, nil
		}
	}
	return "", fmt.Errorf("%s holds too many pages of this day", folder)
}

// choose returns the rows and contestants with matching names.
func choose(all []row, names, peers string) ([]row, error) {
	ofRows, err := regexp.Compile(names)
	if err != nil {
		return nil, fmt.Errorf("-rows: %w", err)
	}
	ofPeers, err := regexp.Compile(peers)
	if err != nil {
		return nil, fmt.Errorf("-proxies: %w", err)
	}
	var chosen []row
	for _, row := range all {
		if !ofRows.MatchString(row.name) {
			continue
		}
		var contestants []contestant
		for _, contestant := range row.contestants {
			if ofPeers.MatchString(contestant.name) {
				contestants = append(contestants, contestant)
			}
		}
		row.contestants = contestants
		if len(contestants) > 0 {
			chosen = append(chosen, row)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no row matches %q with a proxy that matches %q", names, peers)
	}
	return chosen, nil
}

func listRows(stdout io.Writer, rows []row) {
	for _, row := range rows {
		_, _ = fmt.Fprintf(stdout, "%-18s %s (%s)\n", row.name, row.title, row.how())
	}
}
