package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/term"
)

// style colours text for a terminal, and leaves it as it is elsewhere.
type style struct{ colours bool }

// styleOf returns the style of an output: colours on a terminal, unless NO_COLOR (no-color.org) is set or the terminal
// is a dumb one.
func styleOf(out io.Writer) style {
	return style{isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (s style) error(text string) string   { return s.paint("31", text) }
func (s style) warning(text string) string { return s.paint("33", text) }
func (s style) good(text string) string    { return s.paint("32", text) }

// paint wraps a text into a colour (ECMA-48, Select Graphic Rendition).
func (s style) paint(colour, text string) string {
	if !s.colours {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func isTerminal(out io.Writer) bool {
	file := fileOf(out)
	return file != nil && term.IsTerminal(int(file.Fd()))
}

// output is a Writer that keeps the first error of writing.
type output struct {
	to  io.Writer
	err error
}

// Write writes to the output; after an error nothing is written.
func (o *output) Write(text []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	var n int
	n, o.err = o.to.Write(text)
	return n, o.err
}

// fileOf returns the file that an output is, or nil.
func fileOf(out io.Writer) *os.File {
	if wrapped, ok := out.(*output); ok {
		out = wrapped.to
	}
	file, _ := out.(*os.File)
	return file
}

// widthOf returns the number of columns of an output: that of COLUMNS, or that of the terminal, or 0 for no limit.
func widthOf(out io.Writer) int {
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	if file := fileOf(out); file != nil {
		if width, _, err := term.GetSize(int(file.Fd())); err == nil {
			return width
		}
	}
	return 0
}
