//go:build !linux

package cluster

import "fmt"

// enter fails: network namespaces need Linux.
func enter(...string) error { return fmt.Errorf("%w: this is not Linux", errDenied) }
