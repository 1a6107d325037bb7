// Package users is what the middlewares for passwords have in common: the users (the options users
// and usersFile), how a request without credentials is answered, and how the service learns a user's name
// (headerField, removeHeader).
//
// What flows in: lines as htpasswd and htdigest write them, and requests. What flows out: what a middleware made of
// each line, challenges, and requests with a name that no client has forged. It never knows a hash itself, reads a
// file only through the function that it is given, and no error of it holds any part of a line: an error names the
// option or the file, and the number of the line.
package users

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// What bounds the users of one middleware. A file is read as a whole before its size is known.
const (
	maxFile   = 16 << 20 // bytes
	maxUsers  = 100_000
	maxLine   = 4096 // bytes
	maxListed = 10   // bad lines that an error lists
)

// space is what does not count around a line. All other white space is a part of a name: a name in which it was lost
// would be another's.
const space = " \t\r\n"

// Source says where the users of one middleware are.
type Source struct {
	// Option is the kind of the middleware as files spell it, such as "basicAuth".
	Option string
	// Users are the values of users: one user each.
	Users []string
	// File is the value of usersFile: the path of a file with a user in each line, empty lines and lines that begin
	// with "#" aside.
	File string
	// ReadFile reads the file.
	ReadFile func(path string) ([]byte, error)
}

// Entry is one line that was understood.
type Entry[V any] struct {
	// Key identifies the line's user; of two lines with one key the later one counts.
	Key string
	// Value is what was made of the line.
	Value V
	// Place is where the line stands, such as "basicAuth.users[0]". It holds nothing of the line.
	Place string
	// Listed says that the line is one of users, not of the file.
	Listed bool
}

// Read hands every line to parse and returns what it made of them, in order: those of the file first, then those of
// users, which so take the place of lines in the file that have the same key. The warnings name lines that another
// takes the place of. Spaces and tabs around a line do not count.
//
// The error lists every line that parse refused, whose own errors must not hold any part of the line. No user at all
// is an error too, as are a file of more than 16 MiB, more than 100,000 users and a line of more than 4096 bytes.
func Read[V any](from Source, parse func(line string) (key string, value V, err error)) (entries []Entry[V],
	warnings []string, err error,
) {
	lines, err := from.lines()
	if err != nil {
		return nil, nil, err
	}
	var bad problems
	places := make(map[string]int, len(lines))
	for _, line := range lines {
		key, value, err := parsed(line, parse)
		if err != nil {
			bad.add(line.place, err)
			continue
		}
		entry := Entry[V]{Key: key, Value: value, Place: line.place, Listed: line.listed}
		if at, twice := places[key]; twice {
			warnings = append(warnings, fmt.Sprintf("%s takes the place of %s, which has the same user", line.place,
				entries[at].Place))
			entries[at] = entry
			continue
		}
		places[key] = len(entries)
		entries = append(entries, entry)
	}
	if err := bad.join(); err != nil {
		return nil, nil, err
	}
	return entries, shorten(warnings), nil
}

func parsed[V any](line line, parse func(line string) (string, V, error)) (key string, value V, err error) {
	switch {
	case len(line.text) > maxLine:
		return key, value, fmt.Errorf("is longer than %d bytes", maxLine)
	case line.text == "":
		return key, value, errors.New("is empty")
	}
	return parse(line.text)
}

// line is one line, and where it stands.
type line struct {
	text, place string
	listed      bool
}

func (s Source) lines() ([]line, error) {
	var lines []line
	if s.File != "" {
		text, err := s.read()
		if err != nil {
			return nil, err
		}
		number := 0
		for text := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			number++
			if text = strings.Trim(text, space); text != "" && text[0] != '#' {
				lines = append(lines, line{text: text, place: fmt.Sprintf("%s.usersFile %s line %d", s.Option, s.File, number)})
			}
			if len(lines) > maxUsers {
				break // A file of the size that is taken has millions of short lines, each with a place that takes far more memory.
			}
		}
	}
	if len(lines)+len(s.Users) > maxUsers {
		return nil, fmt.Errorf("%s has more than %d users", s.Option, maxUsers)
	}
	for i, user := range s.Users {
		lines = append(lines, line{strings.Trim(user, space), fmt.Sprintf("%s.users[%d]", s.Option, i), true})
	}
	if len(lines) > 0 {
		return lines, nil
	}
	if s.File != "" {
		return nil, fmt.Errorf("%s.usersFile %s holds no users, and %s.users is empty", s.Option, s.File, s.Option)
	}
	return nil, fmt.Errorf("%s.users and %s.usersFile are empty, so that nobody could get in", s.Option, s.Option)
}

// read returns the content of the file. An error names the path, unless that may be a user instead of a path.
func (s Source) read() (string, error) {
	if strings.ContainsAny(s.File, "\r\n${}") || strings.Contains(s.File, ":") && s.File[0] != '/' && s.File[0] != '.' {
		return "", fmt.Errorf("%s.usersFile is not the path of a file; users stand in %s.users", s.Option, s.Option)
	}
	if s.ReadFile == nil {
		return "", fmt.Errorf("%s.usersFile %s can't be read here", s.Option, s.File)
	}
	text, err := s.ReadFile(s.File)
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed):
		return "", fmt.Errorf("%s.usersFile %s: %w", s.Option, s.File, failed.Err)
	case err != nil:
		return "", fmt.Errorf("%s.usersFile %s: %w", s.Option, s.File, err)
	case len(text) > maxFile:
		return "", fmt.Errorf("%s.usersFile %s has %d bytes; more than %d are not taken", s.Option, s.File, len(text),
			maxFile)
	}
	return string(text), nil
}

// problems collects what is wrong with lines.
type problems struct {
	listed []string
	more   int
}

func (p *problems) add(place string, err error) {
	if len(p.listed) == maxListed {
		p.more++
		return
	}
	p.listed = append(p.listed, place+": "+err.Error())
}

func (p *problems) join() error {
	if len(p.listed) == 0 {
		return nil
	}
	text := strings.Join(p.listed, "; ")
	if p.more > 0 {
		text += fmt.Sprintf("; and %d more", p.more)
	}
	return errors.New(text)
}

// shorten leaves the first warnings and the number of the others.
func shorten(warnings []string) []string {
	if more := len(warnings) - maxListed; more > 0 {
		return append(warnings[:maxListed:maxListed], fmt.Sprintf("and %d more", more))
	}
	return warnings
}
