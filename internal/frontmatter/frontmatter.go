// Package frontmatter splits Markdown files that begin with YAML between two lines
// of dashes.
package frontmatter

import "strings"

// Parts are the two halves of a file. Lines count from 1 in the whole file.
type Parts struct {
	YAML     string
	YAMLLine int
	Body     string
	BodyLine int
	// Found is false when the file begins with no front matter; all of it is body then.
	Found bool
	// Open says that the front matter has no end; all that follows is YAML then.
	Open bool
}

const fence = "---"

// Split finds the front matter of a file. The body comes without the empty lines
// around it.
func Split(text string) Parts {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != fence {
		body, skipped := trim(lines)
		return Parts{Body: body, BodyLine: 1 + skipped}
	}
	for i, line := range lines[1:] {
		if strings.TrimRight(line, " \t") != fence {
			continue
		}
		body, skipped := trim(lines[i+2:])
		return Parts{Found: true, YAML: strings.Join(lines[1:i+1], "\n"), YAMLLine: 2, Body: body, BodyLine: i + 3 + skipped}
	}
	return Parts{Found: true, Open: true, YAML: strings.Join(lines[1:], "\n"), YAMLLine: 2, BodyLine: len(lines)}
}

func trim(lines []string) (text string, skipped int) {
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines, skipped = lines[1:], skipped+1
	}
	return strings.TrimRight(strings.Join(lines, "\n"), " \t\r\n"), skipped
}

// Marks counts the characters that can begin or end something in YAML. Readers take
// about as much time and memory for each as for hundreds of others, and for some with
// the square of their number: who reads other people's texts bounds them first.
func Marks(yaml string) (n int) {
	for i := range len(yaml) {
		switch yaml[i] {
		case '\n', ':', ',', '[', ']', '{', '}', '-', '?', '&', '*', '!', '#', '%', '"', '\'', '|', '>', '@', '`':
			n++
		}
	}
	return n
}

// Join makes the file of which Split gives these parts. The YAML ends with a line end.
func Join(yaml, body string) string {
	text := fence + "\n" + yaml + fence + "\n"
	if body != "" {
		text += "\n" + body + "\n"
	}
	return text
}
