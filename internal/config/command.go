package config

import (
	"errors"
	"strings"
)

// command is a program with its arguments: a list, or one text that is split as a
// shell would, without expanding anything.
type command struct{ to *[]string }

func (v command) set(texts []string) error {
	if len(texts) != 1 {
		*v.to = append([]string{}, texts...)
		return nil
	}
	words, err := SplitWords(texts[0])
	if err != nil {
		return err
	}
	*v.to = words
	return nil
}

func (v command) text() string {
	var quoted []string
	for _, word := range *v.to {
		quoted = append(quoted, quoteWord(word))
	}
	return strings.Join(quoted, " ")
}

func (v command) kind() string { return "command" }

func quoteWord(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\r\n'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// SplitWords cuts a line into words at white space. Single and double quotes keep
// words together and a backslash keeps the next character; nothing is expanded.
func SplitWords(line string) ([]string, error) {
	words := []string{}
	var word strings.Builder
	var quote rune
	begun, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			// In double quotes a backslash stands for itself before most characters.
			if quote == '"' && !strings.ContainsRune("\"\\$`", r) {
				word.WriteRune('\\')
			}
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			begun, escaped = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			begun, quote = true, r
		case strings.ContainsRune(" \t\r\n", r):
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quote or a backslash is left open: close it, or write the command as a list in the file")
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
