package main

import (
	"errors"
	"strings"
)

// splitWords splits a command line as a POSIX shell does, with single quotes, double quotes and backslashes, and expands
// nothing. The error reads on from the line.
func splitWords(line string) ([]string, error) {
	var (
		words  []string
		word   strings.Builder
		inWord bool
		quote  byte
	)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteByte(c)
		case quote != 0 && c == quote:
			quote = 0
		case c == '\\':
			i++
			if i == len(line) {
				return nil, errors.New("ends in a backslash")
			}
			// Between double quotes a backslash is itself, unless it protects one of these.
			if quote == '"' && !strings.ContainsRune("\"\\$`", rune(line[i])) {
				word.WriteByte('\\')
			}
			word.WriteByte(line[i])
			inWord = true
		case c == '\'' || c == '"':
			quote, inWord = c, true
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, errors.New("has a quote that is not closed")
	case inWord:
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("names no program")
	}
	return words, nil
}
