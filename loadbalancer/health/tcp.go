package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
)

// maxShown is how many bytes of an answer a reason shows.
const maxShown = 64

// NewTCPCheck returns the check of an option of a TCP service, which must not be nil. The error names the option with
// an invalid value: a port outside 1 to 65535, a time that is not above 0, rise or fall below 1, a jitter outside 0 to
// 100.
func NewTCPCheck(config *dynamic.TCPServerHealthCheck) (Check, error) {
	check := Check{tcp: true, send: config.Send, expect: config.Expect}
	err := check.setPort(config.Port)
	if err == nil {
		err = check.schedule(&times{
			interval: time.Duration(config.Interval), unhealthy: (*time.Duration)(config.UnhealthyInterval),
			timeout: time.Duration(config.Timeout), rise: config.Rise, fall: config.Fall, jitter: config.Jitter,
		})
	}
	if err != nil {
		return Check{}, fmt.Errorf("healthCheck.%w", err)
	}
	return check, nil
}

// askTCP runs a check in mode tcp.
func (c *Check) askTCP(ctx context.Context, connect Connector, where location) answer {
	conn, err := connect.Dial(ctx, where.wire, where.address, where.server)
	if err != nil {
		return c.failure(ctx, err)
	}
	defer func() { _ = conn.Close() }() // what is not read does not matter
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if c.send != "" {
		if _, err := io.WriteString(conn, c.send); err != nil {
			return c.failure(ctx, err)
		}
	}
	if c.expect == "" {
		return answer{up: true, reason: "connected"}
	}
	return c.expected(ctx, conn)
}

// expected reads until an answer begins with what is expected, or can't any more.
func (c *Check) expected(ctx context.Context, conn net.Conn) answer {
	buffer := make([]byte, max(len(c.expect), maxShown))
	read := 0
	for {
		n, err := conn.Read(buffer[read:])
		read += n
		got := string(buffer[:read])
		switch {
		case strings.HasPrefix(got, c.expect):
			return answer{up: true, reason: "answered as expected"}
		case !strings.HasPrefix(c.expect, got):
			return answer{reason: unexpected(got)}
		case errors.Is(err, io.EOF):
			return answer{reason: unexpected(got) + " and the end of the connection"}
		case err != nil && got == "":
			return c.failure(ctx, err)
		case err != nil:
			return answer{reason: unexpected(got) + " and then " + c.failure(ctx, err).reason}
		}
	}
}

// unexpected says what came in place of what is expected, which may be a secret.
func unexpected(got string) string { return "not the expected answer: got " + quoted(got) }

// quoted returns text in quotes without control characters, and not all of a long one.
func quoted(text string) string {
	if len(text) > maxShown {
		return strconv.QuoteToASCII(text[:maxShown]) + "..."
	}
	return strconv.QuoteToASCII(text)
}
