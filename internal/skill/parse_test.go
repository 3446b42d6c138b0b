package skill_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/skill"
)

const good = "---\nname: triage\ndescription: Sorts issues.\n---\n\nRead $ARGUMENTS.\n"

func TestX8SkillsAreParsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want lineshaft.Skill
	}{
		"plain":        {good, lineshaft.Skill{Name: "triage", Description: "Sorts issues.", Body: "Read $ARGUMENTS."}},
		"quoted":       {"---\nname: \"a b\"\ndescription: 'Use when: now'\n---\nx", lineshaft.Skill{Name: "a b", Description: "Use when: now", Body: "x"}},
		"folded":       {"---\nname: a\ndescription: >\n  One\n  two.\n---\nx", lineshaft.Skill{Name: "a", Description: "One two.", Body: "x"}},
		"literal":      {"---\nname: a\ndescription: |\n  One\n  two.\n---\nx", lineshaft.Skill{Name: "a", Description: "One\ntwo.", Body: "x"}},
		"several rows": {"---\nname: a\ndescription: One\n  two.\n---\nx", lineshaft.Skill{Name: "a", Description: "One two.", Body: "x"}},
		"other keys":   {"---\nlicense: MIT\nname: a\nallowed-tools: [Bash, Read]\nmetadata:\n  v: 1\ndescription: d\n---\nx", lineshaft.Skill{Name: "a", Description: "d", Body: "x"}},
		"numbers":      {"---\nname: 2048\ndescription: 7\n---\nx", lineshaft.Skill{Name: "2048", Description: "7", Body: "x"}},
		"no body":      {"---\nname: a\ndescription: d\n---\n", lineshaft.Skill{Name: "a", Description: "d"}},
		"windows":      {"---\r\nname: a\r\ndescription: d\r\n---\r\nx\r\n", lineshaft.Skill{Name: "a", Description: "d", Body: "x"}},
		"comment":      {"---\n# about\nname: a # short\ndescription: d\n---\nx", lineshaft.Skill{Name: "a", Description: "d", Body: "x"}},
	} {
		if got, err := skill.Parse(c.text); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestX8MalformedSkillsSayWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
		line       int
	}{
		"no front matter": {"Do it.", "has no front matter", 1},
		"empty":           {"", "has no front matter", 1},
		"open":            {"---\nname: a\n", "no end", 1},
		"no name":         {"---\ndescription: d\n---\nx", "needs a name", 1},
		"no description":  {"---\nname: a\n---\nx", "needs a description", 1},
		"empty name":      {"---\nname:\ndescription: d\n---\nx", "needs a name", 1},
		"blank name":      {"---\nname: ' '\ndescription: d\n---\nx", "needs a name", 1},
		"list":            {"---\n- a\n---\nx", "keys with values", 2},
		"list as name":    {"---\ndescription: d\nname: [a]\n---\nx", "the name must be text", 3},
		"colon":           {"---\nname: a\ndescription: Use when: now\n---\nx", "needs quotes", 3},
		"alias":           {"---\nname: &n a\ndescription: *n\n---\nx", "must be text", 2},
		"two lines":       {"---\nname: |\n  a\n  b\ndescription: d\n---\nx", "one line", 1},
		"long name":       {"---\nname: " + strings.Repeat("n", 101) + "\ndescription: d\n---\nx", "longer than 100", 1},
		"long text":       {"---\nname: a\ndescription: " + strings.Repeat("n", 4097) + "\n---\nx", "longer than 4096", 1},
		"too large":       {good + strings.Repeat("x", lineshaft.MaxSkillBytes), "more than", 0},
		"no text":         {"---\nname: a\xff\n---\n", "UTF-8", 0},
		"nul":             {"---\nname: a\ndescription: d\n---\n\x00", "UTF-8", 0},
		"large matter":    {"---\nname: a\ndescription: d\nx: " + strings.Repeat("x", 16<<10) + "\n---\n", "front matter has more", 1},
	} {
		_, err := skill.Parse(c.text)
		mistake, ok := err.(*skill.Error) //nolint:errorlint // it is documented to be one
		if !ok || !strings.Contains(mistake.Message, c.want) || mistake.Line != c.line {
			t.Errorf("%s: %v, want %q in line %d", name, err, c.want, c.line)
		}
	}
}

func TestX8SkillsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := lineshaft.Skill{
			Name:        rapid.StringMatching(`[a-zA-Z0-9]([ -~]{0,20}[a-zA-Z0-9.])?`).Draw(t, "name"),
			Description: rapid.StringMatching(`[!-~]([ -~\n]{0,60}[!-~])?`).Draw(t, "description"),
			Body:        rapid.StringMatching(`[A-Za-z#$-]([ -~\n]{0,80}[A-Za-z.])?`).Draw(t, "body"),
		}
		text, err := skill.Render(want)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := skill.Parse(text); err != nil || got != want {
			t.Fatalf("%q came back as %+v, %v", text, got, err)
		}
	})
}

func FuzzX8Parse(f *testing.F) {
	for _, seed := range []string{good, "---\nname: &a [*a]\n---", "---\n? a\n: b\n---\n", "---\nname: !!binary x\n---", "---\n%YAML\n---\n", "---\n{a: [}\n---\n", "---\nname: >-\n---\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := skill.Parse(text)
		if err != nil {
			if mistake, ok := err.(*skill.Error); !ok || mistake.Message == "" || strings.Contains(err.Error(), "\n") { //nolint:errorlint // it is documented to be one
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if s.Name == "" || s.Description == "" || len(s.Body) > len(text) {
			t.Fatalf("%q became %+v", text, s)
		}
	})
}

// H-14: what is quadratic for the parser is refused before it is asked.
func TestH14FrontMatterOfASkillIsBounded(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"keys": strings.Repeat("a:\n", 5000), "nesting": "a: " + strings.Repeat("[", 16_000), "documents": strings.Repeat("--- a\n", 2000)} {
		file := "---\nname: n\ndescription: d\n" + text + "\n---\nbody\n"
		if _, err := skill.Parse(file); err == nil || !strings.Contains(err.Error(), "too many keys and lines") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
