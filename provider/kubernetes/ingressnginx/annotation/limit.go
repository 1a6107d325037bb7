package annotation

// limit reads the annotations about rates and connections.
func (r *reading) limit() {
	out := &r.options.Limit
	out.BytesPerSecond = int64(max(0, r.anyNumberOr("limit-rate", r.settings.LimitRate))) << 10
	out.BytesAfter = int64(max(0, r.anyNumberOr("limit-rate-after", r.settings.LimitRateAfter))) << 10

	perMinute, perSecond := r.limited("limit-rpm"), r.limited("limit-rps")
	out.Connections = r.limited("limit-connections")
	burst := r.anyNumberOr("limit-burst-multiplier", 5)
	text, state := r.text("limit-allowlist", networkList)
	if state == wrong {
		r.refuse("limit-allowlist")
	}
	switch {
	case perMinute == 0 && perSecond == 0 && out.Connections == 0:
		r.idle("limit-rps, limit-rpm or limit-connections", "limit-burst-multiplier", "limit-allowlist")
		return
	case perMinute == 0 && perSecond == 0:
		r.idle("limit-rps or limit-rpm", "limit-burst-multiplier")
	case burst <= 0:
		r.reject("limit-burst-multiplier", "nginx accepts no burst below 1")
		burst = 0
	}
	if state == valid {
		out.Allow, _ = networks(text)
	}
	out.PerSecond = Rate{perSecond, bounded(perSecond, burst)}
	out.PerMinute = Rate{perMinute, bounded(perMinute, burst)}
}

// limited reads a limit; without one, or with one that is not positive, there is none.
func (r *reading) limited(name string) int {
	limit, state := r.number(name)
	if r.long[name] {
		return 0
	}
	if state == wrong {
		r.refuse(name)
	}
	if state == valid && limit <= 0 {
		r.set(name, Unused, "a limit that is not positive is none")
	}
	return max(0, limit)
}

// anyNumberOr reads a whole number, with a default where there is none.
func (r *reading) anyNumberOr(name string, otherwise int) int {
	if value, state := r.number(name); state == valid {
		return value
	}
	return otherwise
}

// bounded multiplies two numbers that are not negative.
func bounded(a, b int) int { return int(min(int64(a)*int64(b), mostNumber)) }
