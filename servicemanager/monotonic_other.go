//go:build !linux

package servicemanager

// monotonic returns no time: there is no service manager that compares it.
func monotonic() []string { return nil }
