package definition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// folderOf is a sound folder with n files of a text more.
func folderOf(n int, text string) Files {
	files := sound()
	for i := range n {
		files[fmt.Sprintf("webhooks/w%03d.yaml", i)] = text
	}
	return files
}

// workOf is what reading a folder took.
func workOf(files Files) (work int, problems []lineshaft.FileProblem) {
	f := &findings{places: map[string]place{}}
	p := &parsing{findings: f, def: &Definition{places: f.places}}
	p.readFiles(files)
	return f.work, f.told()
}

// However small the text of a folder is and whatever it is made of, reading ends at a
// bound, and the file that went beyond is named.
func TestH14FoldersOfManyKeysAreBoundedTogether(t *testing.T) {
	t.Parallel()
	for name, unit := range map[string]string{
		"keys without values": "a:\n", "keys": "a: 1\n", "documents": "--- a\n", "directives": "%YAML 1.2\n---\n", "question marks": "? a\n", "tags": "k: !!str 1\n", "anchors": "k: &a 1\n",
	} {
		text := strings.Repeat(unit, (maxKeys-10)/max(1, strings.Count(unit, "\n")))
		work, problems := workOf(folderOf(65, text))
		single, _ := workOf(folderOf(1, text))
		if work > maxWork+single || single < 1_000_000 {
			t.Errorf("%s: 65 files took %d, one %d", name, work, single)
		}
		told := 0
		for _, p := range problems {
			if p.Message == tooMuch().message && strings.HasPrefix(p.File, "webhooks/w") {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%s: told %d times that it is too much: %+v", name, told, problems[:min(2, len(problems))])
		}
	}
	for name, text := range map[string]string{
		"list": "k: [" + strings.Repeat("1,", 120_000) + "]\n", "entries without a colon": "k: {" + strings.Repeat("a,", 120_000) + "}\n", "lines": "k:\n" + strings.Repeat("- 1\n", 60_000),
		"comments": strings.Repeat("#\n", 120_000) + "a: 1\n",
	} {
		if work, _ := workOf(folderOf(16, text)); work > 3*maxWork {
			t.Errorf("%s: %d", name, work)
		}
	}
}

// What is too much is neither given to the lexer, whose tokens would be found to be too
// many keys, nor to the parser, which would find no YAML.
func TestH14TooMuchIsNotParsed(t *testing.T) {
	t.Parallel()
	keys := strings.Repeat("a:\n", maxKeys+1)
	broken := strings.Repeat("a: 1\n", 1000) + "]\n"
	for _, test := range []struct {
		text    string
		most    int
		message string
	}{
		{keys, maxWork, "the file has more than 4000 keys"},
		{keys, len(keys), tooMuch().message},
		{"a: 1\n", 0, tooMuch().message},
		{broken, maxWork, "this is not valid YAML"},
		{broken, 1_000_000, tooMuch().message},
	} {
		if n, _, m := parseYAML(test.text, test.most); n != nil || m == nil || !strings.HasPrefix(m.message, test.message) {
			t.Errorf("%.10q with %d: %v, want %s", test.text, test.most, m, test.message)
		}
	}
}

func TestH14EntriesWithoutAColonAreKeys(t *testing.T) {
	t.Parallel()
	_, _, m := parseYAML("k: {"+strings.Repeat("a,", maxKeys+10)+"}\n", maxWork)
	if m == nil || !strings.Contains(m.message, "more than 4000 keys") {
		t.Errorf("%v", m)
	}
	if _, _, m := parseYAML("k: {"+strings.Repeat("a: 1, ", maxKeys-10)+"}\n", maxWork); m != nil && strings.Contains(m.message, "keys") {
		t.Errorf("entries with a colon count twice: %v", m)
	}
}

// Factories of hundreds of files are read.
func TestH14LargeFactoriesAreRead(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("authMode: token\ndescription: |\n")
	for i := range 100 {
		fmt.Fprintf(&text, "  Line %d: of a long text, with commas and: colons.\n", i)
	}
	work, problems := workOf(folderOf(400, text.String()))
	for _, p := range problems {
		if p.Message == tooMuch().message {
			t.Errorf("%d: %+v", work, p)
		}
	}
}
