package canonical

import "net/http"

// Error explains why a request target is refused. Its text is for logs and contains no bytes of the client.
type Error struct {
	// Status is the HTTP status code of the answer: 400, or 501 for CONNECT.
	Status int
	// Reason is one lower-case clause.
	Reason string
}

func (e *Error) Error() string { return "request target: " + e.Reason }

func refuse(reason string) *Error {
	return &Error{Status: http.StatusBadRequest, Reason: reason}
}
