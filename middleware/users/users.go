// Package users is the common part of basicAuth and digestAuth: parsing users (the options users and usersFile),
// responses to requests without credentials, and passing the user's name to the service (headerField, removeHeader).
// Errors contain the option or file and the line number, but no part of a line.
package users

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Limits of the users of one middleware. The size of a file is not known before it is read.
const (
	maxFile   = 16 << 20 // bytes
	maxUsers  = 100_000
	maxLine   = 4096 // bytes
	maxListed = 10   // errors in a message
)

// space is trimmed from lines. Other white space is a part of the name.
const space = " \t\r\n"

// Source is where the users of one middleware are defined.
type Source struct {
	// Option is the kind of the middleware as in files, such as "basicAuth".
	Option string
	// Users are the values of users: one user each.
	Users []string
	// File is the value of usersFile: the path of a file with a user in each line, except for empty lines and lines that
	// begin with "#".
	File string
	// ReadFile reads the file.
	ReadFile func(path string) ([]byte, error)
}

// Entry is one parsed line.
type Entry[V any] struct {
	// Key identifies the line's user; of two lines with one key the later one counts.
	Key string
	// Value is the result of parsing.
	Value V
	// Place is the position of the line, such as "basicAuth.users[0]", without its content.
	Place string
	// Listed is set for a line of users, not of the file.
	Listed bool
}

// Read parses every line and returns the results: those of the file first, then those of users, which replace lines of
// the file with the same key. The warnings name replaced lines. Spaces and tabs around a line are ignored.
//
// The error lists every line that parse refused; its errors must not contain any part of the line. It is also an error
// if there is no user, or a file of more than 16 MiB, more than 100,000 users or a line of more than 4096 bytes.
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
			warnings = append(warnings, fmt.Sprintf("%s replaces %s, which has the same user", line.place,
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

// line is one line and its position.
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
				break // A file of the maximum size may have millions of short lines, whose positions need more memory.
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
	return nil, fmt.Errorf("%s.users and %s.usersFile are both empty", s.Option, s.Option)
}

// read returns the content of the file. An error contains the path, unless that may be a user.
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

// problems collects the errors of lines.
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

// shorten returns the first warnings and the number of the others.
func shorten(warnings []string) []string {
	if more := len(warnings) - maxListed; more > 0 {
		return append(warnings[:maxListed:maxListed], fmt.Sprintf("and %d more", more))
	}
	return warnings
}
