// Package dashboard tests the dashboard in Chromium, with ten thousand routers, traffic, and changes of files.
//
// Each test runs one scenario of browse; the page's modules are tested in unit. Any scenario fails if the page reports
// an error, requests another host, or violates its policy. With -update the pictures in docs/images are written.
package dashboard
