package shell

import "strings"

// Block is a fenced code block of a prompt that the shell can run.
type Block struct {
	// Program is sh or bash.
	Program string
	// Script is the block's text, without the fences.
	Script string
	// Line is the line of the opening fence in the prompt, from 1.
	Line int
}

// fence is an opened code block.
type fence struct {
	char   byte
	length int
	indent int
	info   string
}

// Blocks finds the sh, bash and shell blocks of a Markdown text in their order.
//
// Fences follow CommonMark: three or more backticks or tildes, indented by at most
// three spaces; the first word of the info string is the language; a block ends
// at a fence of the same character that is at least as long, or with the text.
// Fences inside lists and quotations belong to these and are ignored.
func Blocks(prompt string) []Block {
	var (
		found []Block
		open  *fence
		body  strings.Builder
		start int
	)
	end := func() {
		if program := open.program(); program != "" {
			found = append(found, Block{Program: program, Script: body.String(), Line: start})
		}
		open = nil
		body.Reset()
	}
	for i, line := range lines(prompt) {
		switch {
		case open == nil:
			if opened, ok := opening(line); ok {
				open, start = &opened, i+1
			}
		case open.closedBy(line):
			end()
		default:
			body.WriteString(unindent(line, open.indent))
			body.WriteByte('\n')
		}
	}
	if open != nil {
		end()
	}
	return found
}

// lines splits at the three line endings that CommonMark knows; a last line
// without an ending counts, an empty rest does not.
func lines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// opening reads the line that starts a block.
func opening(line string) (fence, bool) {
	rest := strings.TrimLeft(line, " ")
	indent := len(line) - len(rest)
	if indent > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return fence{}, false
	}
	char := rest[0]
	info := strings.TrimLeft(rest, string(char))
	length := len(rest) - len(info)
	// A backtick in the info string makes the line inline code instead.
	if length < 3 || char == '`' && strings.Contains(info, "`") {
		return fence{}, false
	}
	return fence{char: char, length: length, indent: indent, info: strings.Trim(info, " \t")}, true
}

func (f *fence) closedBy(line string) bool {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 {
		return false
	}
	rest = strings.TrimRight(rest, " \t")
	return len(rest) >= f.length && strings.Trim(rest, string(f.char)) == ""
}

// program names what runs the block; empty when the language is another one.
func (f *fence) program() string {
	words := strings.Fields(f.info)
	if len(words) == 0 {
		return ""
	}
	switch strings.ToLower(words[0]) {
	case "sh", "shell":
		return "sh"
	case "bash":
		return "bash"
	}
	return ""
}

// unindent takes away as much indentation as the opening fence had.
func unindent(line string, indent int) string {
	for indent > 0 && strings.HasPrefix(line, " ") {
		line, indent = line[1:], indent-1
	}
	return line
}
