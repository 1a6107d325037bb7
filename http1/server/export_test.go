package server

// What external tests name.
var (
	ErrIncomplete  = errIncomplete
	ErrExpectation = errExpectation
)

// Poison has buffers that a server takes back overwritten, so that a test sees what still reads them.
func Poison(s *Server) { s.pool.poison = true }
