package rule_test

import (
	"fmt"

	"github.com/sluiceproxy/sluice/router/rule"
)

func ExampleParse() {
	parsed, err := rule.Parse("Host(`shop.example.com`) && PathPrefix(`/api`)")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(parsed.Match(&rule.Request{Host: "shop.example.com", Path: "/api/orders"}))
	matched, steps := parsed.Explain(&rule.Request{Host: "shop.example.com", Path: "/about"})
	fmt.Println(matched, steps[0].Matcher)
	// Output:
	// true
	// false PathPrefix(`/api`)
}

func ExampleParse_error() {
	_, err := rule.Parse("Host(`shop.example.com`) && PathPrefx(`/api`)")
	fmt.Println(err)
	// Output: column 29: unknown matcher "PathPrefx", did you mean "PathPrefix"?
}
