package otlp

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// longestReason is the limit in bytes of a message of a collector or a library in an error.
const longestReason = 300

// Failure is why a batch did not reach the collector. Its text is short, of one line, and free of the values of
// headers.
type Failure struct {
	// Signal is traces, metrics or logs.
	Signal string
	// Reason is the message of the error.
	Reason string

	cause error
	// partial is set when the collector took all but the refused ones, of which there may be none.
	partial bool
	refused int
}

// Error returns the signal and the reason.
func (f *Failure) Error() string { return "send " + f.Signal + " to the collector: " + f.Reason }

// Is reports whether the cause is the target, such as context.DeadlineExceeded. The cause itself is not given
// away: its text may hold what a collector repeats of the headers.
func (f *Failure) Is(target error) bool { return errors.Is(f.cause, target) }

// failure makes an error one that may be logged; nil stays nil.
func (t *target) failure(err error) error {
	if err == nil {
		return nil
	}
	reason := err.Error()
	for _, secret := range t.secrets {
		reason = strings.ReplaceAll(reason, secret, "xxxx")
	}
	refused, partial := partly(err.Error())
	return &Failure{Signal: t.signal, Reason: plain(reason), cause: err, partial: partial, refused: refused}
}

// Unsent returns how many of a batch of so many did not reach the collector: those that it refused where it
// took the batch in part (partial_success of OTLP), and otherwise all.
func (f *Failure) Unsent(batch int) int {
	if f.partial {
		return min(f.refused, batch)
	}
	return batch
}

// partly finds how much a collector has refused of a batch that it took in part. Each exporter has its own type
// for that, and keeps it to itself; what they have in common is the text.
func partly(text string) (refused int, found bool) {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "failed to upload metrics: "), "traces export: ")
	if !strings.HasPrefix(text, "OTLP partial success: ") {
		return 0, false
	}
	_, err := fmt.Sscanf(text[strings.LastIndexByte(text, '(')+1:], "%d", &refused)
	return max(0, refused), err == nil
}

// plain cuts a text to a bounded length and puts spaces for what would break a line.
func plain(text string) string {
	if len(text) > longestReason {
		text = text[:longestReason] + "..."
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
