package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/static"
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
		flags.VisitAll(func(f *flag.Flag) {
			value, text := flag.UnquoteUsage(f)
			dashes := "--"
			if len(f.Name) == 1 {
				dashes = "-"
			}
			say(stderr, "  %s\n      %s\n", strings.TrimRight(dashes+f.Name+" "+value, " "), text)
		})
		say(stderr, "  --OPTION=VALUE\n      any option of the static configuration, as for run (see sluice --help)\n")
	}
	return flags
}

// parseMixed parses flags and positional arguments in any order. Flags that the set does not define are options of the
// static configuration, returned as they are; their values are given behind "=", but for --configFile FILE.
func parseMixed(flags *flag.FlagSet, args []string) (positional, options []string, err error) {
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
			if near, ok := nearestFlag(flags, name); ok {
				say(flags.Output(), "%s: unknown flag %s; did you mean --%s?\n", flags.Name(), arg, near)
				return nil, nil, errFlag
			}
			options = append(options, arg)
			if !hasValue && strings.EqualFold(name, "configFile") && i+1 < len(args) {
				i++
				options = append(options, args[i])
			}
		default:
			own = append(own, arg)
			if !hasValue && !isBool(known) && i+1 < len(args) {
				i++
				own = append(own, args[i])
			}
		}
	}
	return positional, options, flags.Parse(own)
}

// errFlag says that a flag is unknown, which has been printed.
var errFlag = errors.New("unknown flag")

// nearestFlag returns the flag of the set that was probably meant by a name that is no static option either.
func nearestFlag(flags *flag.FlagSet, name string) (string, bool) {
	if strings.EqualFold(name, "configFile") {
		return "", false
	}
	first, _, _ := strings.Cut(name, ".")
	for _, option := range static.Options() {
		if root, _, _ := strings.Cut(option.Path, "."); strings.EqualFold(root, first) {
			return "", false
		}
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) {
		if len(f.Name) > 1 {
			names = append(names, f.Name)
		}
	})
	return document.Nearest(name, names)
}

// boolFlag is the value of a flag that needs no argument, as package flag defines it.
type boolFlag interface{ IsBoolFlag() bool }

func isBool(f *flag.Flag) bool {
	value, ok := f.Value.(boolFlag)
	return ok && value.IsBoolFlag()
}

// parseFlags parses the arguments of a subcommand that takes flags alone; see flagResult for what it returns.
func parseFlags(flags *flag.FlagSet, args []string) (code int, done bool) {
	err := flags.Parse(args)
	return flagResult(flags, flags.Args(), err)
}

// flagResult judges parsed arguments among which nothing but flags is expected. When done, the exit code is 0 after
// a request for help and 2 after a mistake, which has been printed.
func flagResult(flags *flag.FlagSet, positional []string, err error) (code int, done bool) {
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, true
	case err != nil:
		return 2, true
	case len(positional) > 0:
		_, _ = fmt.Fprintf(flags.Output(), "%s: unexpected argument %q\n", flags.Name(), positional[0])
		return 2, true
	}
	return 0, false
}
