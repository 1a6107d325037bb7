//go:build !linux

package http1

// idleWatch watches nothing here: idle connections are looked at before they are used, and time out.
type idleWatch struct{}

func (w *idleWatch) add(*clientConn) {}

func (w *idleWatch) remove(*clientConn) {}
