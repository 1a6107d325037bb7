package ingressnginx

// rates limits requests per second and per minute.
func (d *locationDraft) rates() {
	d.notYet(true, d.given("limit-rps", "limit-rpm")...)
}

// connections limits requests in flight.
func (d *locationDraft) connections() {
	if d.options.Limit.Connections > 0 {
		d.notYet(true, "limit-connections")
	}
}

// bandwidth limits the rate of a response.
func (d *locationDraft) bandwidth() {
	if d.options.Limit.BytesPerSecond > 0 {
		d.notYet(false, "limit-rate")
	}
}
