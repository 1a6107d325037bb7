package client

// What external tests name.
var (
	ErrUpstreamClosed = errUpstreamClosed
	ErrServerClosed   = errServerClosed
	ErrNoPong         = errNoPong
	ErrHeadTimeout    = errHeadTimeout
	ErrRoundTripUsed  = errRoundTripUsed
	ErrConnect        = errConnect
	ErrMethod         = errMethod
	ErrFieldName      = errFieldName
	ErrBodyShort      = errBodyShort
	ErrBodyLong       = errBodyLong
	ErrHeadTooLarge   = errHeadTooLarge
)

// What external tests measure with.
const (
	StreamWindow = streamWindow
	ConnCredit   = connCredit
	DoubtAge     = doubtAge
	MaxTries     = maxTries
	MaxInterims  = maxInterims
	MaxOut       = maxOut
	MaxControl   = maxControl
)

// Poison has memory that is given back overwritten, so that a test sees what still uses it.
func Poison(r *Resources) { r.pools.Poison = true }

// Windows returns how many bytes windows hold that have grown.
func Windows(r *Resources) int64 { return r.windows.used.Load() }

// State is what the connections of an upstream hold.
type State struct {
	Streams, Reserved, Waiters, Woken int
	// Pending is how many bytes wait to be written.
	Pending int
	// Used is what has been used of the windows of the connections and was not given back.
	Used int64
}

// StateOf returns the sum over all connections.
func StateOf(u *Upstream) (s State) {
	for _, c := range *u.conns.Load() {
		c.mutex.Lock()
		s.Streams += len(c.streams)
		s.Reserved += c.reserved
		s.Waiters += len(c.out.waiters)
		s.Woken += len(c.woken)
		s.Pending += c.out.size()
		s.Used += c.credit
		c.mutex.Unlock()
	}
	return s
}
