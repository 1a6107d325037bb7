//go:build !linux

package cluster

import "fmt"

// enter fails: network namespaces are a matter of Linux.
func enter(...string) error { return fmt.Errorf("%w: this is not Linux", errDenied) }
