package gotemplate

import (
	"strings"
)

const (
	// maxNesting is how deep blocks and parentheses may be nested; the parser and the runner are recursive.
	maxNesting = 200
	// maxActions is how many bytes of a template may belong to actions; each may become 100 bytes in memory.
	maxActions = 1 << 20
	// maxVariables bounds the product of the declarations of variables and their uses: the parser compares the name of
	// each variable that is used with all that are declared.
	maxVariables = 100_000_000
)

// checkNesting looks for what would exhaust the stack, the memory or the time in the parser, before it is called. It
// parses as much of the syntax as that takes: quotes, comments and the words that open and close blocks. It accepts
// malformed texts, which the parser refuses.
func checkNesting(text string) *Error {
	c := nesting{text: text}
	for {
		open := strings.Index(c.text[c.at:], "{{")
		if open < 0 {
			return nil
		}
		c.at += open
		start := c.at
		if reason := c.action(); reason != "" {
			return &Error{Line: 1 + strings.Count(text[:start], "\n"), Reason: string(reason)}
		}
	}
}

// nesting is a scan of a template.
type nesting struct {
	text string
	at   int
	// blocks has the levels of each open block: one, and one more for each "else if".
	blocks  []int
	levels  int
	actions int
	// declared and used count variables; used includes declared.
	declared, used int
}

// action goes behind the action that starts at c.at.
func (c *nesting) action() limitError {
	start := c.at
	c.at += len("{{")
	if rest := c.text[c.at:]; len(rest) > 1 && rest[0] == '-' && isSpace(rest[1]) {
		c.at += 2
	}
	if strings.HasPrefix(c.text[c.at:], "/*") {
		end := strings.Index(c.text[c.at:], "*/")
		if end < 0 {
			c.at = len(c.text)
			return ""
		}
		c.at += end + len("*/")
		return ""
	}
	c.block(c.text[c.at:])
	if c.levels > maxNesting {
		return errNested
	}
	if reason := c.inside(); reason != "" {
		return reason
	}
	if c.actions += c.at - start; c.actions > maxActions {
		return errLong
	}
	return ""
}

// block counts the levels of blocks; text is what follows the opening braces.
func (c *nesting) block(text string) {
	word, rest := firstWord(text)
	switch word {
	case "if", "with", "range", "define", "block":
		c.blocks = append(c.blocks, 1)
		c.levels++
	case "else":
		if next, _ := firstWord(rest); next != "" && len(c.blocks) > 0 {
			c.blocks[len(c.blocks)-1]++
			c.levels++
		}
	case "end":
		if last := len(c.blocks) - 1; last >= 0 {
			c.levels -= c.blocks[last]
			c.blocks = c.blocks[:last]
		}
	}
}

// inside goes behind the closing braces, or to the end of a text that has none.
func (c *nesting) inside() limitError {
	parentheses := 0
	for c.at < len(c.text) {
		switch b := c.text[c.at]; b {
		case '"', '\'', '`':
			c.quoted(b)
			continue
		case '(':
			if parentheses++; parentheses > maxNesting {
				return errNested
			}
		case ')':
			parentheses--
		case '$':
			if c.used++; c.used*c.declared > maxVariables {
				return errVariables
			}
		case ':':
			c.declared += 2 // At most two by one operator.
		case '}':
			if strings.HasPrefix(c.text[c.at:], "}}") {
				c.at += len("}}")
				return ""
			}
		}
		c.at++
	}
	return ""
}

// quoted goes behind a quoted text. One that is not closed ends the line, where the parser gives up.
func (c *nesting) quoted(quote byte) {
	for c.at++; c.at < len(c.text); c.at++ {
		switch b := c.text[c.at]; {
		case b == quote:
			c.at++
			return
		case b == '\n' && quote != '`':
			return
		case b == '\\' && quote != '`':
			c.at++
		}
	}
	c.at = len(c.text) // Also behind a backslash that ends the text.
}

func firstWord(text string) (word, rest string) {
	text = strings.TrimLeft(text, " \t\r\n")
	end := 0
	for end < len(text) && (text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return text[:end], text[end:]
}

func isSpace(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
