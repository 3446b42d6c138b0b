package runs

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (d diff) String() string {
	var out strings.Builder
	for _, line := range d.Lines {
		out.WriteString(line.Sign + line.Text + "|")
	}
	return out.String()
}

func TestI2Diffs(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("same\n", 20)
	for _, tc := range []struct{ before, after, want string }{
		{"", "", ""},
		{"", "a\nb\n", "+a|+b|"},
		{"a\n", "", "-a|"},
		{"a\nb\nc", "a\nx\nc", " a|-b|+x| c|"},
		{"a\nb\nc\nd", "a\nc\nd\ne", " a|-b| c| d|+e|"},
		{many + "old\n" + many, many + "new\n" + many, "…| same| same| same|-old|+new| same| same| same|…|"},
		{"a\nb\nc\n", "b\nc\na\n", "-a| b| c|+a|"},
		{"a\nb", "a\nb\nc", " a| b|+c|"},
		{"a\n\nb\n", "a\n\n\nb\n", " a| |+| b|"},
		{"x\n" + many + "y\n", "z\n" + many + "w\n", "-x|+z| same| same| same|…| same| same| same|-y|+w|"},
		{"a\n1\n2\nb", "x\n1\n2\ny", "-a|+x| 1| 2|-b|+y|"},
	} {
		if got := newDiff("p", tc.before, tc.after).String(); got != tc.want {
			t.Errorf("%q to %q: %s, want %s", tc.before, tc.after, got, tc.want)
		}
	}
}

// I-2: edits are found under the names that each kind of agent has for them.
func TestI2EditsOfAgents(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	for name, tc := range map[string]struct {
		data object
		want string
	}{
		"built in":     {object{"path": "f", "old": "a", "new": "b"}, "f -a|+b|"},
		"built in new": {object{"path": "f", "content": "a"}, "f +a|"},
		"claude":       {object{"file_path": "f", "old_string": "a", "new_string": "b"}, "f -a|+b|"},
		"claude many":  {object{"file_path": "f", "edits": []any{object{"old_string": "a", "new_string": "b"}, object{"old_string": "c", "new_string": "d"}, 7}}, "f -a|+b| f -c|+d|"},
		"opencode":     {object{"filePath": "f", "oldString": "a", "newString": "b"}, "f -a|+b|"},
		"protocol":     {object{"diffs": []any{object{"path": "f", "old_text": "", "new_text": "b"}}}, "f +b|"},
		"patch":        {object{"path": "f", "patch": "@@ -1 +1 @@\n-a\n+b\n c"}, "f …@@ -1 +1 @@|-a|+b| c|"},
		"a command":    {object{"command": "ls"}, ""},
		"odd":          {object{"path": 7, "old": 1, "new": object{}, "diffs": "x"}, ""},
		"no path":      {object{"content": "x"}, ""},
	} {
		var got []string
		for _, d := range diffsOf(tc.data) {
			got = append(got, d.Path+" "+d.String())
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// S-4: large edits cost a bounded amount of time and page.
func TestS4LargeDiffs(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a\nx\n", 20000), strings.Repeat("b\nx\n", 20000)
	if whole := page.CompareTexts(a, b); len(whole) < 40000 || whole[0] != (page.DiffLine{Sign: "-", Text: "a"}) {
		t.Errorf("texts that are too long to compare become %d lines", len(whole))
	}
	d := newDiff("p", a, b)
	if len(d.Lines) != maxDiffLines || d.Left == 0 || d.Added == 0 {
		t.Errorf("%d lines, %d left, %d added", len(d.Lines), d.Left, d.Added)
	}
	if d = newDiff("p", "", strings.Repeat("w", 1<<20)); len(d.Lines[0].Text) > maxDiffWidth+8 {
		t.Errorf("a line of %d bytes", len(d.Lines[0].Text))
	}
}
