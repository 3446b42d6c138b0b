package house_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// wordsPage has the table of words that we do not use.
const wordsPage = "docs/glossary.md"

// wordExceptions are texts that keep a word of the table, each with its reason. The
// text is the line that the complaint shows, or a part of it.
var wordExceptions = []struct{ file, text, reason string }{
	{wordsPage, "| `", "the table itself"},
}

// wordRule is a row of the table.
type wordRule struct {
	not, unless *regexp.Regexp // unless is nil where nothing is excepted
	but         string
	first       []string // what each phrase begins with
}

// quick says whether a text may have one of the phrases; expressions take longer.
func (r wordRule) quick(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(r.first, func(first string) bool { return strings.Contains(text, first) })
}

// wordRules reads the table.
func wordRules(page string) (rules []wordRule, err error) {
	_, table, _ := strings.Cut(page, "| not | but | unless |\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			break
		}
		not, unless := wordPhrases(cells[1]), wordPhrases(cells[3])
		if len(not) == 0 {
			continue
		}
		rule := wordRule{but: strings.TrimSpace(cells[2])}
		for _, phrase := range not {
			first, _, _ := strings.Cut(phrase, " …")
			rule.first = append(rule.first, first)
		}
		if rule.not, err = wordPattern(not); err != nil {
			return nil, err
		}
		if len(unless) > 0 {
			if rule.unless, err = wordPattern(unless); err != nil {
				return nil, err
			}
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

var (
	wordSpan  = regexp.MustCompile("`([^`]+)`")
	wordBlank = regexp.MustCompile(`\s+`)
)

func wordPhrases(cell string) (phrases []string) {
	for _, found := range wordSpan.FindAllStringSubmatch(cell, -1) {
		phrases = append(phrases, found[1])
	}
	return phrases
}

func wordPattern(phrases []string) (*regexp.Regexp, error) {
	for i, phrase := range phrases {
		phrase = strings.ReplaceAll(regexp.QuoteMeta(phrase)+`\b`, `…\b`, "…")
		phrases[i] = strings.ReplaceAll(phrase, "…", `[\w"'%{}.$-]+`)
	}
	pattern, err := regexp.Compile(`(?i)\b(` + strings.Join(phrases, "|") + `)`)
	if err != nil {
		return nil, fmt.Errorf("words: %w", err)
	}
	return pattern, nil
}

// wordText is something that users read.
type wordText struct{ at, text string }

// complain says which words of the table a text has.
func (r wordRule) complain(t wordText) (complaints []string) {
	text := t.text
	if r.unless != nil {
		text = r.unless.ReplaceAllString(text, "")
	}
	for _, at := range r.not.FindAllStringIndex(text, -1) {
		from, to := max(0, at[0]-60), min(len(text), at[1]+60)
		complaints = append(complaints, fmt.Sprintf("%s: %q: write %s: …%s…", t.at, text[at[0]:at[1]], r.but, text[from:to]))
	}
	return complaints
}

// TestI7Words holds what users read to the table of words that we do not use.
func TestI7Words(t *testing.T) {
	t.Parallel()
	root := os.DirFS(archRoot)
	page, err := fs.ReadFile(root, wordsPage)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := wordRules(string(page))
	if err != nil || len(rules) < 10 {
		t.Fatalf("%d rules (%v) in %s", len(rules), err, wordsPage)
	}
	tree, err := archModuleTree()
	if err != nil {
		t.Fatal(err)
	}
	texts, err := wordTexts(root, tree)
	if err != nil || len(texts) < 5000 {
		t.Fatalf("%d texts (%v): the rule would hold for anything", len(texts), err)
	}
	used := make([]bool, len(wordExceptions))
	for _, text := range texts {
		if !slices.ContainsFunc(rules, func(r wordRule) bool { return r.quick(text.text) }) {
			continue
		}
		for _, rule := range rules {
			for _, complaint := range rule.complain(text) {
				if !wordExcepted(text, used) {
					t.Error(complaint)
				}
			}
		}
	}
	for i, exception := range wordExceptions {
		if !used[i] {
			t.Errorf("%s: the exception %q is not needed any more", exception.file, exception.text)
		}
	}
}

func wordExcepted(text wordText, used []bool) bool {
	for i, exception := range wordExceptions {
		if strings.HasPrefix(text.at, exception.file+":") && strings.Contains(text.text, exception.text) {
			used[i] = true
			return true
		}
	}
	return false
}

// wordTexts gathers what users read: strings of the program, pages, documents.
func wordTexts(root fs.FS, tree *archTree) (texts []wordText, err error) {
	for _, f := range tree.written(false) {
		if first, _, _ := strings.Cut(f.dir, "/"); !slices.Contains([]string{"bench", "e2e", "tests", "scripts"}, first) &&
			!archTestSupport(f.dir) {
			texts = append(texts, wordStrings(tree, f)...)
		}
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (archIgnored(root, name) || name == "tests" || name == "bench"):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		kind := path.Ext(name)
		if slices.Contains([]string{".md", ".html", ".js"}, kind) || strings.HasPrefix(name, "deploy/") {
			text, err := fs.ReadFile(root, name)
			if err == nil {
				texts = append(texts, wordPage(name, kind, string(text))...)
			}
			return err
		}
		return nil
	})
	for i := range texts {
		texts[i].text = wordBlank.ReplaceAllString(texts[i].text, " ")
	}
	return texts, err
}

// wordStrings are the literals of a Go file that have more than one word; those that are
// added up are one text.
func wordStrings(tree *archTree, f *archFile) (texts []wordText) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.BinaryExpr:
			if text := wordSum(n); text != "%" {
				texts = append(texts, wordText{tree.at(n), text})
			}
			return false
		case *ast.BasicLit:
			if text := wordSum(n); text != "%" {
				texts = append(texts, wordText{tree.at(n), text})
			}
		}
		return true
	})
	return texts
}

// wordSum is the text of literals that are added up, with a mark for what is not literal.
func wordSum(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			if err == nil {
				return text
			}
		}
	case *ast.BinaryExpr:
		return wordSum(e.X) + wordSum(e.Y)
	case *ast.CallExpr:
		text := ""
		for _, arg := range e.Args {
			text += wordSum(arg) + " "
		}
		return text
	}
	return "%"
}

var (
	wordTag     = regexp.MustCompile(`<[^>]*>|\{\{[^"}]*\}\}`)
	wordQuoted  = regexp.MustCompile("\"[^\"]*\"|'[^']*'|`[^`]*`")
	wordComment = regexp.MustCompile(`(?s:\{\{/\*.*?\*/\}\}|/\*.*?\*/)|(?m:^\s*//.*$)`)
)

// wordPage is a page or a document, by paragraphs, without what is code.
func wordPage(name, kind, text string) (texts []wordText) {
	if kind != ".md" {
		text = wordComment.ReplaceAllStringFunc(text, func(c string) string { return strings.Repeat("\n", strings.Count(c, "\n")) })
		if kind == ".html" {
			text = wordTag.ReplaceAllStringFunc(text, func(c string) string { return "%" + strings.Repeat("\n", strings.Count(c, "\n")) })
		}
		for i, line := range strings.Split(text, "\n") {
			if kind == ".js" {
				line = strings.Join(wordQuoted.FindAllString(line, -1), " % ")
			}
			texts = append(texts, wordText{fmt.Sprintf("%s:%d", name, i+1), line})
		}
		return texts
	}
	start, paragraph, fence := 0, "", ""
	flush := func() {
		if paragraph != "" {
			texts = append(texts, wordText{fmt.Sprintf("%s:%d", name, start), paragraph})
		}
		paragraph = ""
	}
	for i, line := range strings.Split(text, "\n") {
		mark := strings.TrimSpace(line)
		opens := strings.HasPrefix(mark, "```")
		switch {
		case fence != "":
			if mark == fence {
				fence = ""
			}
			continue
		case opens:
			fence = mark[:len(mark)-len(strings.TrimLeft(mark, "`"))]
			flush()
			continue
		case mark == "" || strings.HasPrefix(mark, "|") || strings.HasPrefix(mark, "- "):
			flush()
		}
		if paragraph == "" {
			start = i + 1
		}
		if name != wordsPage {
			line = wordSpan.ReplaceAllString(line, "%")
		}
		paragraph += line + " "
	}
	flush()
	return texts
}

func TestI7WordsAreFound(t *testing.T) {
	t.Parallel()
	rules, err := wordRules("| not | but | unless |\n| --- | --- | --- |\n| `mend` | fix | |\n| `is no …` | is not a … | `there is no …` |\n")
	if err != nil || len(rules) != 2 {
		t.Fatal(rules, err)
	}
	root := fstest.MapFS{
		"a.go":          {Data: []byte("package a\n// mend it\nconst A = \"mend\" +\n\" it, amend it\"\nvar B = f(\"x is \" + \"no\\ntime; there is no time\", \"mend\")\n")},
		"a_test.go":     {Data: []byte("package a\nconst B = \"mend it\"\n")},
		"docs/a.md":     {Data: []byte("This is\nno page.\n```\nmend\n```\n\n`mend` x\n- mend\n")},
		"web/a.html":    {Data: []byte("{{/* mend */}}<p title=\"mend\">Mend this</p>")},
		"web/a.js":      {Data: []byte("// mend\nmend(); say('mend this')\n")},
		"tests/x/a.md":  {Data: []byte("mend\n")},
		"testdata/b.md": {Data: []byte("mend\n")},
	}
	sources, err := archRead(root)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := archParse(sources)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := wordTexts(root, tree)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, text := range texts {
		for _, rule := range rules {
			for range rule.complain(text) {
				got = append(got, text.at+" "+rule.but)
			}
		}
	}
	slices.Sort(got)
	want := "a.go:3 fix,a.go:5 fix,a.go:5 is not a …,docs/a.md:1 is not a …,docs/a.md:8 fix,web/a.html:1 fix,web/a.js:2 fix"
	if strings.Join(got, ",") != want {
		t.Errorf("found %s\nwant  %s", strings.Join(got, ","), want)
	}
}
