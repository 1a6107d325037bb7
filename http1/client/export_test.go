package client

import "net/http"

// What external tests name.
var (
	ErrRoundTripUsed     = errRoundTripUsed
	ErrConnect           = errConnect
	ErrMethod            = errMethod
	ErrEncoding          = errEncoding
	ErrFieldName         = errFieldName
	ErrBodyShort         = errBodyShort
	ErrUnexpectedUpgrade = errUnexpectedUpgrade
	ErrSwitchEarly       = errSwitchEarly
	ErrInterim           = errInterim
	ErrUpstreamClosed    = errUpstreamClosed
)

// Sizes that tests exceed.
const (
	CopyBytes   = copyBytes
	AtOnceBytes = atOnceBytes
)

// Poison has buffers that are given back overwritten, so that a test sees what still reads them.
func Poison(r *Resources) { r.buffers.poison = true }

// AppendRequest returns the head of a request as it is sent, and the length of its body.
func AppendRequest(r *http.Request) (head []byte, length int64, err error) {
	head, framing, err := new(RoundTrip).appendRequest(nil, r, nil)
	return head, framing.length, err
}

// Quiet reports whether the newest idle connection, if there is one, is open and has no unread byte.
func Quiet(u *Upstream) bool {
	cc := u.pop()
	if cc == nil {
		return false
	}
	defer u.put(cc)
	return cc.quiet()
}

// Unwatch has the newest idle connection as it is where the system offers no watch.
func Unwatch(u *Upstream) {
	cc := u.pop()
	cc.unwatch()
	cc.raw = nil
	u.put(cc)
}

// Listed reports whether the upstream has connections, idle or in use.
func Listed(u *Upstream) bool {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.conns != nil
}

// Age has all connections of the upstream reach the age at which they get keep-alive.
func Age(u *Upstream) {
	u.mutex.Lock()
	for cc := u.conns; cc != nil; cc = cc.next {
		cc.born -= keepAliveAge
	}
	u.mutex.Unlock()
	u.setKeepAlives()
}
