//go:build !race

package rule_test

// raceDetector is whether the race detector is on, under which a sync.Pool drops items at random.
const raceDetector = false
