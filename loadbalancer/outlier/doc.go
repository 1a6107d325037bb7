// Package outlier judges endpoints by the requests that they answer.
//
// In flow the options passiveHealthCheck and outlierDetection, which become a Policy, and the Result of each request to
// a member, which its State observes; out flow the moment at which a member becomes suspect, how long it is to get no
// requests, and how many members may be out at once. Any number of goroutines observe; one, the single writer of the pool,
// ejects members and lets them return. The package never reads a clock, starts no timer and no goroutine, and sends nothing.
//
// # The two judges
//
// passiveHealthCheck is Traefik's. A failure is a status code of 500 and above, no connection, or a connection that broke;
// maxFailedAttempts of them within failureWindow, with no success between them, take the member out for failureWindow.
//
// outlierDetection is ours, and in force where neither option is given. A failure is no connection, a connection that broke
// or a request that took too long, and a status code only where its option status names it; consecutiveFailures of them in
// a row take the member out, for baseEjectionTime first and for twice as long each further time, up to maxEjectionTime.
// A doubling is forgotten each time that a member has served for as long as its next ejection would last.
//
// Where both options are given both judge, with counts of their own, and a member that both find guilty is out for the
// longer time.
//
// # Old news
//
// What ends while a member is out says nothing about the time after, and neither does a request that began before the
// member returned: such results are ignored, good ones and bad ones, so that a queue of requests that time out one after
// the other lengthens no ejection and causes no second one.
package outlier
