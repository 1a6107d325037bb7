//go:build !linux

package datagram

import (
	"context"
	"errors"
)

// parking is empty: sessions are handed over on Linux alone.
type parking struct{}

// lent is the socket of a session that is handed over, of which there is none.
type lent struct{}

// Park fails with errors.ErrUnsupported.
func (s *Server) Park(context.Context) error { return errors.ErrUnsupported }

// Unpark does nothing.
func (s *Server) Unpark() {}

// Leave does nothing.
func (s *Server) Leave() {}

// Handed returns nothing.
func (s *Server) Handed(int) Handed { return Handed{} }

// Adopt ends the sessions.
func (s *Server) Adopt(handed Handed, _ Pools) {
	for i := range handed.Sessions {
		s.decline(&handed.Sessions[i], Shutdown)
	}
}
