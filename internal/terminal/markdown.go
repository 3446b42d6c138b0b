package terminal

import (
	"regexp"
	"strings"
)

// Markdown shows light Markdown as lines of at most a number of columns: headings,
// lists, quotes, fences, bold, code and links. Everything else stays as it was written.
// Without styles the signs that would be lost with them stay, too.
func Markdown(text string, columns int, styles bool) []Line {
	m := markdown{columns: columns, styles: styles}
	for line := range strings.SplitSeq(strings.Trim(Clean(text), "\n"), "\n") {
		m.add(strings.ReplaceAll(strings.TrimRight(line, " \t"), "\t", "    "))
	}
	m.flush()
	return m.lines
}

var (
	heading  = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	listItem = regexp.MustCompile(`^( *)([-*+]|[0-9]{1,4}[.)]) +(.*)$`)
	quote    = regexp.MustCompile(`^ {0,3}> ?(.*)$`)
	fence    = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	rule     = regexp.MustCompile(`^ {0,3}([-*_])( *[-*_]){2,} *$`)
	inline   = regexp.MustCompile("(`+)([^`]+)`+|\\*\\*([^*]+)\\*\\*|__([^_]+)__|\\[([^\\]]+)\\]\\((https?://[^)\\s]+)\\)")
)

type markdown struct {
	columns int
	styles  bool
	lines   []Line
	// fence is what ends the block of code that is open.
	fence string
	// paragraph are the lines that belong together, after their prefix.
	paragraph     []string
	first, indent string
	style         Style
}

func (m *markdown) add(line string) {
	if m.fence != "" {
		if strings.HasPrefix(strings.TrimSpace(line), m.fence) && strings.Trim(strings.TrimSpace(line), m.fence[:1]) == "" {
			m.fence = ""
			return
		}
		m.lines = append(m.lines, Wrap(Line{{"  " + line, Cyan}}, m.columns, "    ")...)
		return
	}
	switch {
	case line == "":
		m.flush()
		if len(m.lines) > 0 && len(m.lines[len(m.lines)-1]) > 0 {
			m.lines = append(m.lines, nil)
		}
	case fence.MatchString(line):
		m.flush()
		m.fence = fence.FindStringSubmatch(line)[1]
	case heading.MatchString(line):
		m.flush()
		m.lines = append(m.lines, Wrap(m.inline(heading.FindStringSubmatch(line)[1], Bold), m.columns, "")...)
	case rule.MatchString(line):
		m.flush()
		m.lines = append(m.lines, Text(Dim, strings.Repeat("─", min(m.columns, 24))))
	case listItem.MatchString(line):
		m.flush()
		part := listItem.FindStringSubmatch(line)
		sign := part[2]
		if len(sign) == 1 {
			sign = "•"
		}
		margin := part[1][:min(len(part[1]), 12)]
		m.first, m.indent = margin+sign+" ", margin+strings.Repeat(" ", Width(sign)+1)
		m.paragraph = []string{part[3]}
	case quote.MatchString(line):
		if m.first != "│ " {
			m.flush()
			m.first, m.indent, m.style = "│ ", "│ ", Dim
		}
		m.paragraph = append(m.paragraph, quote.FindStringSubmatch(line)[1])
	case strings.HasPrefix(line, "|") || strings.HasPrefix(line, "    ") && len(m.paragraph) == 0:
		m.flush()
		m.lines = append(m.lines, Wrap(Line{{line, Plain}}, m.columns, "    ")...)
	default:
		m.paragraph = append(m.paragraph, strings.TrimLeft(line, " "))
	}
}

func (m *markdown) flush() {
	if len(m.paragraph) > 0 {
		text := append(Line{{m.first, m.style}}, m.inline(strings.Join(m.paragraph, " "), m.style)...)
		m.lines = append(m.lines, Wrap(text, m.columns, m.indent)...)
	}
	m.paragraph, m.first, m.indent, m.style = nil, "", "", Plain
}

// inline finds what is bold, code or a link within a text.
func (m *markdown) inline(text string, style Style) Line {
	var l Line
	for text != "" {
		at := inline.FindStringSubmatchIndex(text)
		if at == nil {
			break
		}
		group := func(n int) string {
			if at[2*n] < 0 {
				return ""
			}
			return text[at[2*n]:at[2*n+1]]
		}
		l = append(l, Span{text[:at[0]], style})
		switch {
		case group(2) != "" && m.styles:
			l = append(l, Span{group(2), style.And(Cyan)})
		case group(3)+group(4) != "":
			l = append(l, Span{group(3) + group(4), style.And(Bold)})
		case group(5) != "" && group(5) != group(6):
			l = append(l, Span{group(5) + " (" + group(6) + ")", style})
		case group(6) != "":
			l = append(l, Span{group(6), style})
		default:
			l = append(l, Span{group(0), style})
		}
		text = text[at[1]:]
	}
	return append(l, Span{text, style})
}
