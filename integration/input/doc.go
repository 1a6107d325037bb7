// Package input tests invalid input, and the subcommands that answer an operator's questions.
//
// In flow configurations with one mistake each, as text under testdata, and command lines; out flow the exact lines
// that check prints, what the running binary answers beside the mistake, and the answers of explain and routes. Every
// mistake is reported with file, line and object, and costs its object alone.
//
// It never looks into the packages of the product: only the built binary is used.
package input
