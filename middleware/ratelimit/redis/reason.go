package redis

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"unicode"

	"github.com/redis/go-redis/v9"
)

// longestReason bounds what a server can put into the log, in bytes.
const longestReason = 200

// reason says why Redis is lost, for the log. What a server answers is cut where it repeats the command, and left out
// where it holds the password.
func (s *settings) reason(err error) string {
	var answer redis.Error
	if !errors.As(err, &answer) {
		return s.failure(err)
	}
	text := clean(answer.Error())
	text, _, _ = strings.Cut(text, ", with args")
	if s.password != "" && strings.Contains(answer.Error(), s.password) {
		code, _, _ := strings.Cut(text, " ")
		if strings.Contains(code, s.password) {
			return "an answer that holds the password"
		}
		return code
	}
	return text
}

// failure says what is wrong with the connection.
func (s *settings) failure(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return "no answer in time"
	case s.password != "" && strings.Contains(err.Error(), s.password):
		return "an answer that is not of Redis"
	}
	return clean(err.Error())
}

// clean makes one short line of a text.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	if len(text) > longestReason {
		text = strings.ToValidUTF8(text[:longestReason], "") + "..."
	}
	return text
}
