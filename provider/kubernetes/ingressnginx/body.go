package ingressnginx

import "github.com/sluiceproxy/sluice/dynamic"

// bodySize refuses bodies above proxy-body-size.
func (d *locationDraft) bodySize() {
	if most := d.options.Proxy.BodySize; most > 0 {
		d.use(phaseBody, "bodylimit", &dynamic.Middleware{BodyLimit: &dynamic.BodyLimit{MaxRequestBodyBytes: most}})
	}
}
