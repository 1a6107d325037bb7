package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// question is the input: scrapes and expressions.
type question struct {
	Scrapes []scrape `json:"scrapes"`
	// Expressions are evaluated at the time of the last scrape.
	Expressions []string `json:"expressions"`
}

// result is the result for one expression.
type result struct {
	Expr string `json:"expr"`
	// Problem is why the expression is invalid or cannot be evaluated.
	Problem   string     `json:"problem,omitempty"`
	Selectors []selector `json:"selectors"`
	Series    []series   `json:"series"`
}

// selector is a selector of an expression.
type selector struct {
	Metric string `json:"metric"`
	// Labels are the labels that it is selected or grouped by.
	Labels []string `json:"labels"`
}

// series is one series of a result.
type series struct {
	Labels map[string]string `json:"labels"`
	// Value is text: JSON has neither NaN nor infinity.
	Value string `json:"value"`
}

// answer evaluates all expressions. An error is one of the scrapes.
func answer(ctx context.Context, asked question) ([]result, error) {
	known, err := read(asked.Scrapes)
	if err != nil {
		return nil, err
	}
	grammar := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 10_000_000, Timeout: time.Minute,
		LookbackDelta: 5 * time.Minute, Parser: grammar,
	})
	defer func() { _ = engine.Close() }()
	results := make([]result, len(asked.Expressions))
	for i, text := range asked.Expressions {
		results[i] = result{Expr: text, Selectors: []selector{}, Series: []series{}}
		parsed, err := grammar.ParseExpr(text)
		if err == nil {
			results[i].Selectors = selectors(parsed)
			results[i].Series, err = evaluate(ctx, engine, known, text)
		}
		if err != nil {
			results[i].Problem = err.Error()
		}
	}
	return results, nil
}

// evaluate returns the result of an expression.
func evaluate(ctx context.Context, engine *promql.Engine, known *memory, text string) ([]series, error) {
	query, err := engine.NewInstantQuery(ctx, known, nil, text, time.UnixMilli(known.last))
	if err != nil {
		return nil, err
	}
	defer query.Close()
	outcome := query.Exec(ctx)
	if outcome.Err != nil {
		return nil, outcome.Err
	}
	all := []series{}
	switch value := outcome.Value.(type) {
	case promql.Vector:
		for _, sample := range value {
			all = append(all, series{Labels: sample.Metric.Map(), Value: fmt.Sprint(sample.F)})
		}
	case promql.Scalar:
		all = append(all, series{Labels: map[string]string{}, Value: fmt.Sprint(value.V)})
	default:
		return nil, fmt.Errorf("the result is a %s", outcome.Value.Type())
	}
	return all, nil
}

// selectors returns the selectors of an expression.
func selectors(expression parser.Expr) []selector {
	all := []selector{}
	parser.Inspect(expression, func(node parser.Node, above []parser.Node) error {
		vector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		asked := selector{Labels: grouped(above)}
		for _, matcher := range vector.LabelMatchers {
			if matcher.Name == model.MetricNameLabel {
				asked.Metric = matcher.Value
			} else {
				asked.Labels = append(asked.Labels, matcher.Name)
			}
		}
		slices.Sort(asked.Labels)
		asked.Labels = slices.Compact(asked.Labels)
		all = append(all, asked)
		return nil
	})
	return all
}

// grouped returns the labels by which enclosing expressions group a selector.
func grouped(above []parser.Node) []string {
	names := []string{}
	for _, node := range above {
		if aggregate, ok := node.(*parser.AggregateExpr); ok && !aggregate.Without {
			names = append(names, aggregate.Grouping...)
		}
	}
	return names
}
