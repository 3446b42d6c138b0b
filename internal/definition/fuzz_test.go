package definition

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folderMark begins a file in a folder that is written as one text.
const folderMark = "=== "

// folder reads a folder that is written as one text: each file behind a line with
// the mark and its path.
func folder(text string) Files {
	files := Files{}
	for i, block := range strings.Split("\n"+text, "\n"+folderMark) {
		if name, body, _ := strings.Cut(block, "\n"); i > 0 {
			files[name] = body
		}
	}
	return files
}

// flat writes a folder as one text.
func flat(files Files) string {
	var b strings.Builder
	for _, name := range sortedPaths(files) {
		b.WriteString(folderMark + name + "\n" + files[name])
		if !strings.HasSuffix(files[name], "\n") {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// No folder makes it panic, every problem has a place, and what is read without one
// is rendered and read back the same.
func FuzzParse(f *testing.F) {
	f.Add(flat(Example("acme")))
	f.Add(flat(Render(full(), nil)))
	samples, err := filepath.Glob("testdata/positions/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, sample := range samples {
		text, err := os.ReadFile(sample)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	for _, yaml := range []string{"a: &x [*x]", "a: *b", "? a", "a: !!str 1", "<<: {a: 1}", "\t", "a: |\n  b\n c", "[[[[", "{{", "- - - a", "a: 'b", "%YAML 2\n---\n", "a: \"\\x", "&a &b c", "!a !b c", "a: |9", "--- a\n--- b"} {
		f.Add(folderMark + factoryFile + "\n" + yaml + "\n" + folderMark + "agents/a/agent.md\n---\n" + yaml + "\n---\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		files := folder(text)
		def, problems := Parse(files)
		for _, p := range problems {
			if p.File == "" || p.Message == "" || p.Hint == "" || p.Line < 0 || p.Column < 0 || (p.Line == 0) != (p.Column == 0) || p.Line > strings.Count(files[p.File], "\n")+2 {
				t.Fatalf("%+v tells too little about\n%s", p, text)
			}
		}
		rendered := Render(def, files)
		if len(problems) > 0 {
			return
		}
		for name, text := range files {
			if rendered[name] != text {
				t.Fatalf("%s was not kept:\n%q\nis\n%q", name, text, rendered[name])
			}
		}
		fresh := Render(def, nil)
		back, problems := Parse(fresh)
		if d := difference(values(back), values(def)); len(problems) > 0 || d != "" {
			t.Fatalf("%v %s\nin\n%s", problems, d, printed(fresh))
		}
		if changes := Compare(def, back); len(changes) > 0 {
			t.Fatalf("a plan of nothing has %+v", changes)
		}
	})
}
