package definition

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// sound is a folder without mistakes, to put others into.
func sound() Files {
	return folder(`=== factory.yaml
schemaVersion: v1alpha1
name: acme
=== agents/boss/agent.md
---
agentType: FOREMAN
---
=== webhooks/ci.yaml
secretName: CI_SECRET
=== skills/review/SKILL.md
---
name: review
description: Reviews.
license: MIT
---
Read.
`)
}

// Each case is a file or several, with carets below what is wrong.
func TestF3PositionsInYAML(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/positions/*.txt")
	if err != nil || len(cases) < 10 {
		t.Fatal(cases, err)
	}
	for _, name := range cases {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files := sound()
			maps.Copy(files, folder(string(text)))
			_, problems := Parse(files)
			want := marked(files)
			for i, w := range want { // the caret below the opening line means that line
				if strings.Contains(w.Message, `agent "nobody"`) {
					want[i].Line = 1
				}
			}
			agree(t, problems, want)
		})
	}
}

// What keeps a document from being read is one problem, where the reading ends.
func TestF3PositionsOfSyntax(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]lineshaft.FileProblem{
		"":                            {Line: 1, Column: 1, Message: "the file says nothing"},
		"# only a comment\n":          {Line: 1, Column: 1, Message: "the file says nothing"},
		"a:\n\tb: 1\n":                {Line: 2, Column: 1, Message: "this is not valid YAML"},
		"a: [1,\n":                    {Line: 1, Column: 4, Message: "this is not valid YAML"},
		"a: b: c\n":                   {Line: 1, Column: 4, Message: "this is not valid YAML"},
		"a: 1\nb: \"x\n":              {Line: 2, Column: 4, Message: "this is not valid YAML"},
		"a: 1\n---\nb: 2\n":           {Line: 3, Column: 2, Message: "a second document begins here"},
		"a: !!str 1\n":                {Line: 1, Column: 4, Message: "tags such as !!str are not used here"},
		"a: *b\n":                     {Line: 1, Column: 4, Message: "*b repeats what no &b names before"},
		"a: &b [*b]\n":                {Line: 1, Column: 8, Message: "*b repeats what no &b names before"},
		"x: &y {a: 1}\nb:\n  <<: *y":  {Line: 3, Column: 3, Message: "<< is not used here"},
		"? [a]\n: b\n":                {Line: 2, Column: 1, Message: "this is not valid YAML"},
		"name: \"a\\0b\"\n":           {Line: 1, Column: 7, Message: "the text has NUL characters"},
		"name: a\nb: \x00\n":          {Line: 2, Column: 4, Message: "the file is not UTF-8 text"},
		"name: a\nb: é\xff\n":         {Line: 2, Column: 5, Message: "the file is not UTF-8 text"},
		"\ufeffé: 1\r\nb:\r\n\tc: 1":  {Line: 3, Column: 1, Message: "this is not valid YAML"},
		strings.Repeat("[", 50):       {Line: 1, Column: 41, Message: "values are nested more than 40 deep"},
		strings.Repeat("- ", 50):      {Line: 1, Column: 81, Message: "values are nested more than 40 deep"},
		strings.Repeat("a: b\n", 6e3): {Line: 4001, Column: 2, Message: "the file has more than 4000 keys"},
	} {
		files := sound()
		files[factoryFile] = text
		want.File = factoryFile
		_, problems := Parse(files)
		agree(t, problems, []lineshaft.FileProblem{want})
	}
	for text, want := range map[string]lineshaft.FileProblem{
		"":                        {Line: 1, Column: 1, Message: "the file has no front matter"},
		"agentType: FOREMAN\n":    {Line: 1, Column: 1, Message: "the file has no front matter"},
		"---\na: 1\n":             {Line: 1, Column: 1, Message: "the front matter has no end"},
		"---\n\na: [\n---\nb":     {Line: 3, Column: 4, Message: "this is not valid YAML"},
		"---\r\na: 'x\r\n---\r\n": {Line: 2, Column: 4, Message: "this is not valid YAML"},
	} {
		files := sound()
		files["agents/boss/agent.md"] = text
		want.File = "agents/boss/agent.md"
		_, problems := Parse(files)
		agree(t, problems, []lineshaft.FileProblem{want})
	}
}

// A file that repeats itself ever more is refused before it fills the memory.
func TestF3RepeatedAnchors(t *testing.T) {
	t.Parallel()
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		before, after := string(rune('a'+i-1)), string(rune('a'+i))
		text += after + ": &" + after + " [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]\n"
	}
	text = strings.ReplaceAll(text, "a0", "a")
	files := sound()
	files[factoryFile] = text
	_, problems := Parse(files)
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "with all that is repeated the file has more than") {
		t.Errorf("told %+v", problems)
	}
	// A little of it is fine.
	files[factoryFile] = "schemaVersion: v1alpha1\nname: &n acme\ndescription: *n\nsecrets: &s [A]\nagentDefaults: {secrets: *s}\n"
	def, problems := Parse(files)
	if len(problems) > 0 || def.Factory.Description != "acme" || def.Factory.Defaults.Secrets[0] != "A" {
		t.Errorf("read %+v with %+v", def.Factory, problems)
	}
}

// Checks of the nouns speak in the words of the API; the author of a file reads those of
// the file. A new key needs no list for that.
func TestF3ChecksSpeakInTheWordsOfFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"max_runs_per_hour":             "maxRunsPerHour",
		"config.idle_timeout_minutes":   "idleTimeoutMinutes",
		"model_id and config.runner_id": "model and runner",
		"computer_use_model_id":         "computerUseModel",
		"computer_use_enabled":          "computerUseEnabled",
		"hmac.timestamp_header":         "hmac.timestampHeader",
		"filter.channel_ids":            "filter.channel_ids", // also written so in files
		"git_credentials":               "git_credentials",    // no key of a file
		"x_max_tokens":                  "x_max_tokens",
	} {
		if got := fileWords(text); got != want {
			t.Errorf("%s is written as %s, want %s", text, got, want)
		}
	}
	if got := camelPath("triggers[0].filter.payload.max_tokens"); got != "triggers[0].filter.payload.max_tokens" {
		t.Errorf("a field of the payload is written as %s", got)
	}
	files := sound()
	files["agents/boss/agent.md"] = "---\nagentType: FOREMAN\ncomputerUseModel: " + strings.Repeat("é", 200) + "\n---\n"
	if _, problems := Parse(files); len(problems) != 1 || problems[0].Line != 3 || problems[0].Message != "computerUseModel: at most 256 bytes are allowed" {
		t.Errorf("%+v", problems)
	}
	for api, file := range otherWords {
		if foldPath(api) != foldPath(file) {
			t.Errorf("%s is not found where a file says %s", api, file)
		}
	}
}
