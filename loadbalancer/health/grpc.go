package health

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	// checkMethod is the path of the unary call (grpc/health/v1/health.proto).
	checkMethod = "/grpc.health.v1.Health/Check"
	// prefix is the length of what precedes each message: a flag and four bytes of length.
	prefix = 5
	// unimplemented is the status of a server without the method.
	unimplemented = 12
	// maxField is the highest number of a field.
	maxField = 1<<29 - 1
	// serving is the status of a healthy service.
	serving = 1
)

var (
	errNotHTTP2   = errors.New("the endpoint speaks HTTP/1.1, and gRPC needs HTTP/2")
	errNotGRPC    = errors.New("the answer is not gRPC")
	errNoStatus   = errors.New("the answer ends without a status")
	errNoMessage  = errors.New("the answer is no health message")
	errNoProtocol = errors.New("the server does not have the health protocol")
)

// askGRPC runs a check in mode grpc.
func (c *Check) askGRPC(ctx context.Context, client Client, where location) answer {
	// The empty message requests the status of the server as a whole.
	message := make([]byte, prefix)
	request := c.request(ctx, http.MethodPost, &where, &url.URL{Path: checkMethod})
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(message)), prefix
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(message)), nil }
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("Te", "trailers")
	// At most eight digits are allowed.
	request.Header.Set("Grpc-Timeout", strconv.FormatInt(min(max(c.timeout.Milliseconds(), 1), 99_999_999), 10)+"m")
	response, err := client.RoundTrip(request)
	if err != nil {
		return c.failure(ctx, err).about("gRPC health")
	}
	defer func() { _ = response.Body.Close() }() // it was read as far as it matters
	status, err := readHealth(response)
	switch {
	case err != nil:
		return c.failure(ctx, err).about("gRPC health")
	case status != serving:
		return answer{reason: servingName(status)}.about("gRPC health")
	}
	return answer{up: true, reason: servingName(status)}.about("gRPC health")
}

// readHealth returns the server's serving status.
func readHealth(response *http.Response) (uint64, error) {
	switch {
	case response.ProtoMajor < 2:
		return 0, errNotHTTP2
	case response.StatusCode != http.StatusOK:
		return 0, fmt.Errorf("status %d", response.StatusCode)
	case !strings.HasPrefix(response.Header.Get("Content-Type"), "application/grpc"):
		return 0, errNotGRPC
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	if err != nil {
		return 0, err
	}
	// A response without a message may have its trailers in its head.
	code := response.Trailer.Get("Grpc-Status")
	if code == "" {
		code = response.Header.Get("Grpc-Status")
	}
	if err = statusError(code); err != nil {
		return 0, err
	}
	if len(body) < prefix || len(body) > maxBody || body[0] != 0 ||
		uint64(binary.BigEndian.Uint32(body[1:prefix])) != uint64(len(body)-prefix) {
		return 0, errNoMessage
	}
	return parseHealth(body[prefix:])
}

// statusError returns the error for a status other than OK.
func statusError(code string) error {
	if code == "" {
		return errNoStatus
	}
	number, err := strconv.ParseUint(code, 10, 31)
	switch {
	case err != nil:
		return errNotGRPC
	case number == unimplemented:
		return errNoProtocol
	case number != 0:
		return fmt.Errorf("gRPC status %s", codeName(number))
	}
	return nil
}

// parseHealth returns field 1 of a message, a varint; the last one counts, and what is unknown is skipped, as protobuf
// demands.
func parseHealth(message []byte) (uint64, error) {
	var status uint64
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag>>3 == 0 || tag>>3 > maxField {
			return 0, errNoMessage
		}
		message = message[n:]
		value, length := binary.Uvarint(message)
		switch tag & 7 {
		case 0:
			length = max(length, 0)
			if length > 0 && tag>>3 == 1 {
				status = value
			}
		case 1:
			length = 8
		case 2:
			if length <= 0 || value > uint64(len(message)) {
				return 0, errNoMessage
			}
			length += int(value)
		case 5:
			length = 4
		default:
			return 0, errNoMessage
		}
		if length == 0 || length > len(message) {
			return 0, errNoMessage
		}
		message = message[length:]
	}
	return status, nil
}

func servingName(status uint64) string {
	names := [...]string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
	if status < uint64(len(names)) {
		return names[status]
	}
	return "serving status " + strconv.FormatUint(status, 10)
}

// codeName returns a status code with its name (grpc/statuscodes.md).
func codeName(code uint64) string {
	names := [...]string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS",
		"PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
		"DATA_LOSS", "UNAUTHENTICATED",
	}
	if code < uint64(len(names)) {
		return names[code]
	}
	return strconv.FormatUint(code, 10)
}
