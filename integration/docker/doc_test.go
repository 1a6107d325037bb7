// Package docker tests Sluice against a real Docker engine, which it starts itself in namespaces of its own.
//
// In flow containers with labels; out flow requests that reach them. Images are imported from a tar of a program of the
// tests; nothing is pulled, and nothing that runs on the machine is touched.
package docker
