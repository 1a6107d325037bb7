// Package outlier implements outlier detection: it ejects endpoints whose responses to real requests fail.
//
// The options passiveHealthCheck and outlierDetection become a Policy. The State of a member observes the Result of
// each request, reports when the member becomes a candidate for ejection, and computes the length of an ejection; the
// Policy limits how many members may be ejected at once. Any number of goroutines observe; one, the single writer of
// the pool, ejects members and lets them return. The package reads no clock and starts no timer or goroutine.
//
// # The two detectors
//
// passiveHealthCheck is Traefik's. A failure is a status code of 500 and above, a failed connect, or a broken
// connection; maxFailedAttempts of them within failureWindow, without a success in between, eject the member for
// failureWindow.
//
// outlierDetection is Sluice's own, and in force when neither option is given. A failure is a failed connect, a broken
// connection or a time-out, and a status code only when its option status names it; consecutiveFailures of them eject
// the member, first for baseEjectionTime and for twice as long each further time, up to maxEjectionTime. A doubling is
// undone each time that a member has served for as long as its next ejection would last.
//
// With both options each detector has its own counts, and a member ejected by both is out for the longer time.
//
// # Results of earlier requests
//
// Results that arrive while a member is ejected, and results of requests that began before it returned, are ignored,
// successes and failures alike, so that a queue of requests that time out one after the other neither lengthens an
// ejection nor causes a second one.
package outlier
