// Package house holds the tests of the repository itself: the rules that no compiler and no linter knows.
//
// In flow the Go files, the documentation and the Makefile of this repository; out flow failures that name file, line,
// the rule and its reason. Who may import whom is the table in imports_test.go.
//
// It never looks at how Sluice behaves; the other packages under integration/ do.
package house
