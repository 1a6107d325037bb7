//go:build !linux

package main

import "context"

// useHugePages does nothing: this system decides by itself.
func useHugePages(context.Context) {}
