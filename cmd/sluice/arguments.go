package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// headerFlag collects -H 'Name: value', which may repeat.
type headerFlag http.Header

// String returns nothing: headers have no default.
func (headerFlag) String() string { return "" }

// Set adds one header.
func (h headerFlag) Set(text string) error {
	name, value, found := strings.Cut(text, ":")
	if !found || strings.TrimSpace(name) == "" {
		return fmt.Errorf("%q is not of the form 'Name: value'", text)
	}
	http.Header(h).Add(strings.TrimSpace(name), strings.TrimSpace(value))
	return nil
}

// newFlags returns the flags of a subcommand that also takes the static configuration's.
func newFlags(name, usage string, stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("sluice "+name, flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintf(stderr, "usage: sluice %s %s\n", name, usage)
		flags.PrintDefaults()
		_, _ = fmt.Fprintln(stderr, "  --OPTION=VALUE\n    \tany option of the static configuration, as for run (see sluice --help)")
	}
	return flags
}

// parseMixed parses flags and positional arguments in any order. Flags that the set does not define are options of the
// static configuration, returned as they are; their values are given behind "=", but for --configFile FILE.
func parseMixed(flags *flag.FlagSet, args []string) (positional, static []string, err error) {
	var own []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if len(arg) < 2 || arg[0] != '-' {
			positional = append(positional, arg)
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		known := flags.Lookup(name)
		switch {
		case name == "help" || name == "h":
			own = append(own, arg)
		case known == nil:
			static = append(static, arg)
			if !hasValue && strings.EqualFold(name, "configFile") && i+1 < len(args) {
				i++
				static = append(static, args[i])
			}
		default:
			own = append(own, arg)
			if !hasValue && !isBool(known) && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		}
	}
	return positional, static, flags.Parse(own)
}

func isBool(f *flag.Flag) bool {
	value, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && value.IsBoolFlag()
}
