// Package dashboard tests the dashboard as people use it: Chromium opens the page of the built binary, types, clicks,
// and follows changes of files.
//
// In flow a configuration with ten thousand routers, traffic, and changes; out flow failures, and with -update the
// pictures in docs/images. What the page must hold is said in browse, one scenario for each test; what its modules
// compute is tested in unit. A page that reports an error, asks another host, or does what its policy forbids fails
// whatever it was opened for.
package dashboard
