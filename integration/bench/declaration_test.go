package bench

import (
	"fmt"
	"strings"
)

const (
	// routers is how many are declared.
	routers = 10_000
	// reachable is how far apart those routers are whose service has an endpoint that answers.
	reachable = 100
)

// declaration is the generated configuration. The length of a file never changes, so that reading it always costs the
// same.
type declaration struct {
	// files is how many files there are.
	files    int
	endpoint string
	versions [routers]int
	comment  int
}

// host returns the host of a router.
func host(router int) string { return fmt.Sprintf("h%05d.example.com", router) }

// path returns a path that leads to a router as it is declared now.
func (d *declaration) path(router int) string { return fmt.Sprintf("/v%04d/x", d.versions[router]) }

// file returns the number of the file that declares a router.
func (d *declaration) file(router int) int { return router * d.files / routers }

// name returns the name of a file.
func (d *declaration) name(file int) string { return fmt.Sprintf("routes-%05d.yaml", file) }

// texts returns all files by their names.
func (d *declaration) texts() map[string]string {
	texts := map[string]string{}
	for file := range d.files {
		texts[d.name(file)] = d.text(file)
	}
	return texts
}

// text returns a file.
func (d *declaration) text(file int) string {
	var out strings.Builder
	first, end := file*routers/d.files, (file+1)*routers/d.files
	out.WriteString("http:\n  routers:\n")
	for i := first; i < end; i++ {
		fmt.Fprintf(&out, "    route-%05d:\n      rule: Host(`%s`) && PathPrefix(`/v%04d`)\n      service: service-%05d\n", i,
			host(i), d.versions[i], i)
	}
	out.WriteString("  services:\n")
	for i := first; i < end; i++ {
		endpoint := fmt.Sprintf("127.1.%d.%d:9", i/250, i%250)
		if i%reachable == 0 {
			endpoint = d.endpoint
		}
		fmt.Fprintf(&out, "    service-%05d:\n      loadBalancer:\n        servers:\n          - url: http://%s\n", i,
			endpoint)
	}
	fmt.Fprintf(&out, "# revision %06d\n", d.comment)
	return out.String()
}
