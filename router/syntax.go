package router

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/rule"
)

// The values of ruleSyntax. What manifests and generated rules call the default is v3.
const (
	syntaxV2      = rule.V2
	syntaxV3      = "v3"
	syntaxDefault = "default"
)

// CheckRule returns why the rule of a router is invalid, nil if it is valid. Usual is Options.RuleSyntax.
func CheckRule(definition *dynamic.Router, usual string) error {
	_, err := parseRule(definition, usual, nil)
	return err
}

// CheckTCPRule returns why the rule of a TCP router is invalid, nil if it is valid.
func CheckTCPRule(definition *dynamic.TCPRouter) error {
	_, _, err := parseTCPRule(definition)
	return err
}

// parseRule returns the rule of a router. A text is in the syntax that the router names, or else in the usual one; a
// tree is in v3, and shares the patterns.
func parseRule(definition *dynamic.Router, usual string, patterns *rule.Patterns) (*rule.Rule, error) {
	if len(definition.ParentRefs) > 0 {
		// Such a rule is meant for the requests of another router alone. Among all others it would shut out strangers.
		return nil, errors.New("parentRefs is not supported yet")
	}
	syntax := strings.ToLower(definition.RuleSyntax)
	switch syntax {
	case syntaxV2, syntaxV3, syntaxDefault:
	case "":
		syntax = strings.ToLower(usual)
	default:
		return nil, fmt.Errorf("ruleSyntax %q is neither v2 nor v3", definition.RuleSyntax)
	}
	switch {
	case definition.Match != nil && definition.Rule != "":
		return nil, errors.New("the rule is given twice, as text and as a tree")
	case definition.Match != nil:
		return parsed(rule.NewShared(definition.Match, patterns))
	case definition.Rule == "":
		return nil, errors.New("the rule is missing")
	case syntax == syntaxV2:
		return parseV2(definition.Rule)
	}
	return parseV3(definition.Rule)
}

func parsed(parsed *rule.Rule, err error) (*rule.Rule, error) {
	if err != nil {
		return nil, fmt.Errorf("rule: %w", err)
	}
	return parsed, nil
}

// parseV3 reads a rule in the v3 syntax. One in an older syntax gets an error with its v3 spelling.
func parseV3(text string) (*rule.Rule, error) {
	result, err := rule.Parse(text)
	if err == nil {
		return result, nil
	}
	v3, language, older := rule.Older(text)
	if !older {
		return nil, fmt.Errorf("rule: %w", err)
	}
	hint := fmt.Sprintf("rule is written in the %s syntax; in v3 it is: %s", language, v3)
	if language == rule.V1 && strings.Contains(strings.ToLower(text), "strip") {
		hint += ", with the middleware stripPrefix"
	}
	return nil, errors.New(hint)
}

// parseV2 reads a rule in the v2 syntax. One that is valid in v3 alone gets an error that says so.
func parseV2(text string) (*rule.Rule, error) {
	result, err := rule.ParseV2(text)
	if err == nil {
		return result, nil
	}
	if _, v3 := rule.Parse(text); v3 == nil {
		return nil, fmt.Errorf("rule in the v2 syntax: %w; the rule is valid in the v3 syntax: set ruleSyntax: v3", err)
	}
	return nil, fmt.Errorf("rule in the v2 syntax: %w", err)
}
