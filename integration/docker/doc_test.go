// Package docker tests Sluice with a real Docker engine and containers with labels. The tests start the engine in
// namespaces of their own. Images are imported from a tar of a test program; nothing is pulled, and nothing on the
// machine is changed.
package docker
