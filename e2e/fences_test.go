package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// pageFence is a fenced block of README.md or docs. Its language decides what becomes of it,
// unless a comment in the line above does:
//
//	<!-- not run: REASON -->     only its syntax is checked
//	<!-- tested by TestNAME -->  that test reads the page and runs it
type pageFence struct {
	page, language, mark, text string
	line                       int
}

var (
	fenceOpens = regexp.MustCompile("^(`{3,})(\\S*)$")
	fenceMark  = regexp.MustCompile(`^<!-- (not run|tested by):? (.+) -->$`)
)

// testedPages are read as a whole by tests of their own.
var testedPages = map[string]string{
	"README.md":                    "TestI7ReadmeRuns",
	"docs/guides/first-webhook.md": "TestI7ReadmeRuns",
	"docs/definition-files.md":     "TestF2DocumentedExamples",
}

// readFences finds the fences of a page.
func readFences(page, text string) (found []pageFence) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		opens := fenceOpens.FindStringSubmatch(strings.TrimSpace(lines[i]))
		if opens == nil {
			continue
		}
		f := pageFence{page: page, language: opens[2], line: i + 1}
		if i > 0 {
			f.mark = lines[i-1]
		}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != opens[1]; i++ {
			f.text += lines[i] + "\n"
		}
		found = append(found, f)
	}
	return found
}

// docFences are the fences of README.md and of all pages, by page.
func docFences(t *testing.T) map[string][]pageFence {
	t.Helper()
	found := map[string][]pageFence{}
	add := func(name string) error {
		text, err := os.ReadFile(filepath.Join("..", name))
		if fences := readFences(name, string(text)); len(fences) > 0 {
			found[name] = fences
		}
		return err
	}
	err := errors.Join(add("README.md"), fs.WalkDir(os.DirFS(".."), "docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".md" {
			err = add(name)
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// runs says whether the commands of a fence are run by TestI7DocsRun.
func (f pageFence) runs() bool {
	return f.language == "sh" && fenceMark.FindString(f.mark) == "" && testedPages[f.page] == ""
}

// TestI7EveryFence: each block of the documentation is run, read by what reads its language,
// tested elsewhere, or says why not.
func TestI7EveryFence(t *testing.T) {
	t.Parallel()
	tests, checked := testNames(t), 0
	for _, fences := range docFences(t) {
		for _, f := range fences {
			checked++
			if problem := f.check(t, tests); problem != "" {
				t.Errorf("%s:%d: %s", f.page, f.line, problem)
			}
		}
	}
	if checked < 130 {
		t.Errorf("only %d fences", checked)
	}
}

func TestI7FencesAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```\nx\n```\n":                          "no language",
		"```perl\nx\n```\n":                      "nothing reads perl",
		"<!-- not run: no -->\n```sh\nls\n```\n": "no reason",
		"<!-- not run: it changes the machine -->\n```sh\nif\n```\n": "syntax error",
		"<!-- not run: it changes the machine -->\n```sh\nls\n```\n": "",
		"<!-- tested by TestNone -->\n```python\nx\n```\n":           "there is no TestNone",
		"<!-- tested by TestI7EveryFence -->\n```python\nx\n```\n":   "",
		"```json\n{\"a\": 1}\n{\"b\": 2}\n```\n":                     "",
		"```json\n{\"a\": 1,}\n```\n":                                "invalid character",
		"```yaml\na: [\n```\n":                                       "sequence",
		"```http\nPOST /x HTTP/1.1\nHost: a\n\n{\"a\": 1}\n```\n":    "",
		"```http\nPOST /x HTTP/1.1\nHost: a\n\n{\"a\": 1\n```\n":     "unexpected end",
		"```http\nPOST /x\n\n{}\n```\n":                              "malformed",
		"```env\nLINESHAFT_LISTEN=:1\n```\n":                         "",
		"```env\nLINESHAFT_LISTENS=:1\n```\n":                        "there is no setting LINESHAFT_LISTENS",
		"```text\nwhat is shown\n```\n":                              "",
		"````sh\n```sh\nls\n```\n````\n":                             "",
	} {
		fences := readFences("docs/x.md", text)
		if len(fences) != 1 {
			t.Fatalf("%q: %+v", text, fences)
		}
		got := fences[0].check(t, map[string]bool{"TestI7EveryFence": true})
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// testNames are the names of all Go tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names, pattern := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(name string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".tools") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(name)
		for _, found := range pattern.FindAllStringSubmatch(string(text), -1) {
			names[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// check says what is wrong with a fence.
func (f pageFence) check(t *testing.T, tests map[string]bool) string {
	t.Helper()
	mark := fenceMark.FindStringSubmatch(f.mark)
	test := testedPages[f.page]
	switch {
	case f.language == "":
		return "a fence has no language; text is for what is only shown"
	case mark != nil && mark[1] == "not run" && len(mark[2]) < 10:
		return "no reason: " + f.mark
	case mark != nil && mark[1] == "tested by":
		test = mark[2]
	}
	if _, err := os.Stat(filepath.Join("..", test)); test != "" && !tests[test] && (err != nil || !strings.Contains(test, "/")) {
		return "there is no " + test
	}
	var err error
	switch f.language {
	case "sh":
		err = shellSyntax(t, f.text)
	case "json":
		err = jsonValues(f.text)
	case "yaml":
		var value any
		err = yaml.Unmarshal([]byte(f.text), &value)
	case "http":
		err = httpRequest(f.text)
	case "env":
		return envSettings(t, f.text)
	case "text", "markdown": // what is shown, and prompts: those that a page names as files are used by its commands
	case "nginx", "caddy", "ini", "go": // TestI7FencesOfPrograms
	default:
		if test == "" && mark == nil {
			return "nothing reads " + f.language
		}
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func shellSyntax(t *testing.T, text string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-n")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return errors.New(string(out))
	}
	return nil
}

func jsonValues(text string) error {
	for values := json.NewDecoder(strings.NewReader(text)); ; {
		var value any
		switch err := values.Decode(&value); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// httpRequest reads a request and the JSON in it.
func httpRequest(text string) error {
	head, body, _ := strings.Cut(text, "\n\n")
	if _, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head + "\r\n\r\n"))); err != nil {
		return err
	}
	return json.Unmarshal([]byte(body), new(any))
}

// envSettings looks for the variables of a file in the table of settings.
func envSettings(t *testing.T, text string) string {
	t.Helper()
	page, err := os.ReadFile("../docs/operation.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), "="); !strings.Contains(string(page), "`"+name+"`") {
			return "there is no setting " + name
		}
	}
	return ""
}
