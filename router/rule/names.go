package rule

import "github.com/sluiceproxy/sluice/router/rule/expression"

// The parts of the language that are independent of HTTP, for what the matchers here decide.
type (
	node    = expression.Node[Request]
	matcher = expression.Matcher[Request]
	budget  = expression.Budget
	fault   = expression.Fault
)

// Error is an error of a rule with its position.
type Error = expression.Error

// Patterns are the regular expressions of the rules in use, see [NewShared].
type Patterns = expression.Patterns

// Step is one matcher's share in the outcome of a rule.
type Step = expression.Step

// v3 lists the matchers of the language.
func v3() expression.Language[Request] {
	return expression.Language[Request]{
		{Name: "Host", Min: 1, Max: 1, Build: newHost},
		{Name: "HostRegexp", Min: 1, Max: 1, Build: newHostRegexp},
		{Name: "HostSuffix", Min: 1, Max: 1, Build: newHostSuffix},
		{Name: "Path", Min: 1, Max: 1, Build: newPath},
		{Name: "PathPrefix", Min: 1, Max: 1, Build: newPathPrefix},
		{Name: "PathSegmentPrefix", Min: 1, Max: 1, Build: newPathSegmentPrefix},
		{Name: "PathRegexp", Min: 1, Max: 1, Build: newPathRegexp},
		{Name: "NormalizedPath", Min: 1, Max: 1, Build: newNormalizedPath},
		{Name: "NormalizedPathPrefix", Min: 1, Max: 1, Build: newNormalizedPathPrefix},
		{Name: "NormalizedPathRegexp", Min: 1, Max: 1, Build: newNormalizedPathRegexp},
		{Name: "Method", Min: 1, Max: 1, Build: newMethod},
		{Name: "Header", Min: 2, Max: 2, Build: newHeader},
		{Name: "HeaderRegexp", Min: 2, Max: 2, Build: newHeaderRegexp},
		{Name: "Query", Min: 1, Max: 2, Build: newQuery},
		{Name: "QueryRegexp", Min: 1, Max: 2, Build: newQueryRegexp},
		{Name: "ClientIP", Min: 1, Max: 1, Build: newClientIP},
		{Name: "Port", Min: 1, Max: 1, Build: newPort},
	}
}
