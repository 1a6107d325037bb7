package loadbalancer

// maxWeight keeps the sum of a million weights, each multiplied by maxScale, from overflow.
const maxWeight = 1 << 24

func clampWeight(weight int) uint64 {
	return uint64(min(max(weight, 0), maxWeight)) //nolint:gosec // not negative
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
