// Package reference writes the reference page of the dynamic configuration (docs/reference/dynamic.md) from the Go
// types of the model and their comments, and its test fails while the page differs from them. With the flag -update the
// test writes the page, as make generate does.
package reference
