// Package house holds the tests of the repository itself: rules that compilers and linters do not check. They read the
// Go files, the documentation and the Makefile; failures name file, line, the rule and its reason. The permitted
// imports are the table in imports_test.go.
package house
