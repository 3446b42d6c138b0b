package catalog

import (
	"regexp"
	"strings"
)

// mentions finds whom a text mentions with @: logins and org/team. What stands in code
// or in a comment that nobody sees does not count, nor does an address of mail.
func mentions(text string, pattern *regexp.Regexp) []string {
	if !strings.Contains(text, "@") {
		return nil
	}
	var found []string
	for _, match := range pattern.FindAllStringSubmatch(withoutCode(text), -1) {
		found = append(found, match[1])
	}
	return found
}

// The names that can be mentioned. GitLab's may have dots, and groups are nested.
var (
	githubMention = regexp.MustCompile(`(?:^|[^A-Za-z0-9_/@.-])@([A-Za-z0-9](?:-?[A-Za-z0-9])*(?:/[A-Za-z0-9_](?:-*[A-Za-z0-9_])*)?)`)
	gitlabMention = regexp.MustCompile(`(?:^|[^A-Za-z0-9_/@.-])@([A-Za-z0-9_](?:[.-]*[A-Za-z0-9_])*(?:/[A-Za-z0-9_](?:[.-]*[A-Za-z0-9_])*)*)`)
)

var (
	unseenText = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	listItem   = regexp.MustCompile(`^ {0,3}(?:[-*+]|[0-9]{1,9}[.)])(?:\s|$)`)
	fence      = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
)

// withoutCode takes code and hidden comments out of Markdown.
func withoutCode(text string) string {
	text = unseenText.ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), " ")
	var out strings.Builder
	open, inList, afterBlank := "", false, true
	for line := range strings.SplitSeq(text, "\n") {
		blank := strings.TrimSpace(line) == ""
		mark := ""
		if found := fence.FindStringSubmatch(line); found != nil {
			mark = found[1]
		}
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case open != "":
			if mark != "" && mark[0] == open[0] && len(mark) >= len(open) {
				open = ""
			}
		case mark != "":
			open = mark
		case indented && !inList && afterBlank:
			continue // a block of code goes on until a line that is not indented
		default:
			inList = listItem.MatchString(line) || inList && (blank || indented || !afterBlank)
			out.WriteString(line + "\n")
		}
		afterBlank = blank
	}
	return withoutSpans(out.String())
}

// withoutSpans takes out code between backticks, as many at its end as at its beginning.
func withoutSpans(text string) string {
	var out strings.Builder
	last := lastTicks(text)
	for {
		before, rest, found := strings.Cut(text, "`")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		ticks := 1 + len(rest) - len(strings.TrimLeft(rest, "`"))
		rest = rest[ticks-1:]
		end := -1
		if last[ticks] <= len(rest) { // counted from the end: one follows
			end = closingTicks(rest, ticks)
		}
		if end < 0 {
			out.WriteByte(' ') // they stand for themselves
			text = rest
			continue
		}
		out.WriteByte(' ')
		text = rest[end:]
	}
}

// lastTicks is where the last run of backticks of each length begins, counted from the end.
// With it no run is looked for in vain, which would take the square of a hostile text.
func lastTicks(text string) map[int]int {
	last := map[int]int{}
	for rest := text; ; {
		at := strings.IndexByte(rest, '`')
		if at < 0 {
			return last
		}
		rest = rest[at:]
		behind := strings.TrimLeft(rest, "`")
		last[len(rest)-len(behind)] = len(rest)
		rest = behind
	}
}

// closingTicks is where the text behind a run of exactly so many backticks begins; -1
// when there is none.
func closingTicks(text string, ticks int) int {
	for at := 0; at < len(text); {
		next := strings.IndexByte(text[at:], '`')
		if next < 0 {
			return -1
		}
		at += next
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if at += run; run == ticks {
			return at
		}
	}
	return -1
}
