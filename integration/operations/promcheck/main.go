// Command promcheck validates rules and evaluates expressions with Prometheus' code.
//
// Given a file, it prints its rules as JSON. Otherwise it reads scrapes and expressions from standard input, and prints
// the selectors and the result of each expression as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "promcheck: %v\n", err)
		os.Exit(1)
	}
}

// run answers the request on in, or prints the rules of a file.
func run(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	switch len(args) {
	case 0:
		var asked question
		if err := json.NewDecoder(in).Decode(&asked); err != nil {
			return fmt.Errorf("standard input: %w", err)
		}
		answers, err := answer(ctx, asked)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(answers)
	case 1:
		all, err := rules(args[0])
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(all)
	}
	return errors.New("usage: promcheck [file]")
}

// rule is one rule of a file.
type rule struct {
	Group string `json:"group"`
	// Record is the name of the recorded series, or Alert that of the alert.
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// rules parses a file of rules. The error lists everything wrong with it.
func rules(file string) ([]rule, error) {
	groups, problems := rulefmt.ParseFile(file, false, model.LegacyValidation, parser.NewParser(parser.Options{}), nil)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	var all []rule
	for _, group := range groups.Groups {
		for _, r := range group.Rules {
			one := rule{
				Group: group.Name, Record: r.Record, Alert: r.Alert, Expr: r.Expr, Labels: r.Labels,
				Annotations: r.Annotations,
			}
			if r.For > 0 {
				one.For = r.For.String()
			}
			all = append(all, one)
		}
	}
	return all, nil
}
