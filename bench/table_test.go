package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTableLinesUp(t *testing.T) {
	t.Parallel()
	tab := table{head: []string{"#", "what", "ratio"}}
	tab.add("B6", "queue", "0.41 ×")
	tab.add("B7", "lists, a longer name", "–")
	want := strings.Join([]string{
		"| #   | what                 | ratio  |",
		"| --- | -------------------- | ------ |",
		"| B6  | queue                | 0.41 × |",
		"| B7  | lists, a longer name | –      |",
		"",
	}, "\n")
	if got := tab.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTableCells(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		cells []string
		want  string
	}{
		{"missing cells are empty", []string{"a"}, "| a   |     |"},
		{"further cells are dropped", []string{"a", "b", "c"}, "| a   | b   |"},
		{"a bar does not end a cell", []string{"a|b", "c"}, "| a\\|b | c   |"},
		{"a line break does not end a row", []string{"a\n b", "c"}, "| a b | c   |"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tab := table{head: []string{"x", "y"}}
			tab.add(tc.cells...)
			lines := strings.Split(strings.TrimSuffix(tab.String(), "\n"), "\n")
			equal(t, "row", lines[len(lines)-1], tc.want)
			for _, line := range lines {
				equal(t, "width of "+line, utf8.RuneCountInString(line), utf8.RuneCountInString(lines[0]))
			}
		})
	}
}
