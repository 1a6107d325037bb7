package canonical

import "net/http"

// Error says why a request target can't be served. Its text is for logs and never repeats bytes of the client.
type Error struct {
	// Status is the HTTP status code of the answer: 400, or 501 for CONNECT.
	Status int
	// Reason is one lower-case clause that names what is wrong.
	Reason string
}

// Error returns the reason.
func (e *Error) Error() string { return "request target: " + e.Reason }

func refuse(reason string) *Error {
	return &Error{Status: http.StatusBadRequest, Reason: reason}
}
