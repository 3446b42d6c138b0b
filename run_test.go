package lineshaft_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

// wantField checks that err blames field; an empty field means no error.
func wantField(t *testing.T, err error, field string, about ...any) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("%v: %v", about, err)
		}
		return
	}
	public, ok := errors.AsType[*lineshaft.Error](err)
	if !ok || public.Code != lineshaft.CodeInvalidRequest || public.Field != field || public.Message == "" {
		t.Errorf("%v: error is %v, want one that blames %s", about, err, field)
	}
}

func TestR2RunRequestLimits(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range lineshaft.MaxMetadataKeys + 1 {
		many[fmt.Sprint("k", i)] = "v"
	}
	for name, test := range map[string]struct {
		req   lineshaft.NewRun
		field string
	}{
		"plain":               {lineshaft.NewRun{Prompt: "x"}, ""},
		"nothing":             {lineshaft.NewRun{}, "prompt"},
		"conversation alone":  {lineshaft.NewRun{ConversationID: "c"}, "prompt"},
		"white space":         {lineshaft.NewRun{Prompt: " \n\t"}, "prompt"},
		"NUL in a prompt":     {lineshaft.NewRun{Prompt: "x\x00"}, "prompt"},
		"longest prompt":      {lineshaft.NewRun{Prompt: strings.Repeat("x", lineshaft.MaxPromptBytes)}, ""},
		"too long prompt":     {lineshaft.NewRun{Prompt: strings.Repeat("x", lineshaft.MaxPromptBytes+1)}, "prompt"},
		"longest title":       {lineshaft.NewRun{Prompt: "x", Title: strings.Repeat("ü", lineshaft.MaxTitleRunes)}, ""},
		"too long title":      {lineshaft.NewRun{Prompt: "x", Title: strings.Repeat("ü", lineshaft.MaxTitleRunes+1)}, "title"},
		"NUL in prompt":       {lineshaft.NewRun{Prompt: "a\x00b"}, "prompt"},
		"NUL in title":        {lineshaft.NewRun{Prompt: "x", Title: "\x00"}, "title"},
		"prompt is no UTF-8":  {lineshaft.NewRun{Prompt: "\xff"}, "prompt"},
		"NUL in conversation": {lineshaft.NewRun{Prompt: "x", ConversationID: "\x00"}, "conversation_id"},
		"many keys":           {lineshaft.NewRun{Prompt: "x", Metadata: many}, "metadata"},
		"key":                 {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"aZ0._-": "v"}}, ""},
		"empty key":           {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"": "v"}}, "metadata"},
		"key with space":      {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"a b": "v"}}, "metadata"},
		"key with umlaut":     {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"ü": "v"}}, "metadata"},
		"longest key":         {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{strings.Repeat("k", 64): "v"}}, ""},
		"too long key":        {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{strings.Repeat("k", 65): "v"}}, "metadata"},
		"longest value":       {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"k": strings.Repeat("v", 256)}}, ""},
		"too long value":      {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"k": strings.Repeat("v", 257)}}, "metadata.k"},
		"NUL in value":        {lineshaft.NewRun{Prompt: "x", Metadata: map[string]string{"k": "\x00"}}, "metadata.k"},
		"bad attachment":      {lineshaft.NewRun{Prompt: "x", Attachments: []lineshaft.NewAttachment{{FileName: ".."}}}, "attachments[0].file_name"},
		"bad config":          {lineshaft.NewRun{Prompt: "x", Config: lineshaft.AgentConfig{IdleTimeoutMinutes: new(61)}}, "config.idle_timeout_minutes"},
	} {
		wantField(t, test.req.Validate(), test.field, name)
	}
}

func TestR6FollowupRequestLimits(t *testing.T) {
	t.Parallel()
	file := []lineshaft.NewAttachment{{FileName: "a"}}
	for name, test := range map[string]struct {
		req   lineshaft.NewFollowup
		field string
	}{
		"message":    {lineshaft.NewFollowup{Message: "x"}, ""},
		"file alone": {lineshaft.NewFollowup{Attachments: file}, ""},
		"nothing":    {lineshaft.NewFollowup{}, "message"},
		"longest":    {lineshaft.NewFollowup{Message: strings.Repeat("x", lineshaft.MaxPromptBytes)}, ""},
		"too long":   {lineshaft.NewFollowup{Message: strings.Repeat("x", lineshaft.MaxPromptBytes+1)}, "message"},
		"NUL":        {lineshaft.NewFollowup{Message: "\x00"}, "message"},
		"bad file":   {lineshaft.NewFollowup{Message: "x", Attachments: []lineshaft.NewAttachment{{FileName: "a/b"}}}, "attachments[0].file_name"},
	} {
		wantField(t, test.req.Validate(), test.field, name)
	}
}

func TestR2TitleFromPrompt(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"Fix the bug":                   "Fix the bug",
		"# Fix the bug\nnow":            "Fix the bug",
		"\n\n  ## Two  \nrest":          "Two",
		"```sh\necho hi\n```":           "echo hi",
		"```bash\n\necho hi\n```":       "echo hi",
		"~~~sh\necho hi\n~~~":           "echo hi",
		"":                              "Untitled run",
		" \n\t\n":                       "Untitled run",
		"```":                           "Untitled run",
		strings.Repeat("ü", 101) + "\n": strings.Repeat("ü", 99) + "…",
		strings.Repeat("ü", 100):        strings.Repeat("ü", 100),
		"a\r\nb":                        "a",
	} {
		if got := lineshaft.TitleFrom(prompt); got != want {
			t.Errorf("%q became %q, want %q", prompt, got, want)
		}
	}
}

// Whatever the prompt, its title is one that a request may have.
func TestR2TitleIsAlwaysValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prompt := rapid.String().Draw(t, "prompt")
		title := lineshaft.TitleFrom(prompt)
		if title == "" || utf8.RuneCountInString(title) > 100 || strings.ContainsAny(title, "\n") {
			t.Fatalf("title of %q is %q", prompt, title)
		}
	})
}

func TestR4SourcesAndSortsAreListedOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, source := range lineshaft.Sources() {
		if seen[string(source)] {
			t.Errorf("%s twice", source)
		}
		seen[string(source)] = true
	}
	for _, sort := range lineshaft.RunSorts() {
		if seen[string(sort)] {
			t.Errorf("%s twice", sort)
		}
		seen[string(sort)] = true
	}
	if len(seen) != 22+4 {
		t.Errorf("%d words", len(seen))
	}
}

func TestR4EmptyFilterIsZero(t *testing.T) {
	t.Parallel()
	if !(lineshaft.RunFilter{}).IsZero() {
		t.Error("an empty filter selects something")
	}
	for _, f := range []lineshaft.RunFilter{{States: []lineshaft.RunState{}}, {Name: "x"}, {Local: true}, {Metadata: map[string]string{"a": "b"}}} {
		if f.IsZero() {
			t.Errorf("%+v counts as empty", f)
		}
	}
}

func TestR6TurnsHaveNames(t *testing.T) {
	t.Parallel()
	if name := (lineshaft.Turn{Message: "x"}).Name(); name != lineshaft.PromptTurn {
		t.Errorf("the prompt is named %q", name)
	}
	if name := (lineshaft.Turn{FollowupID: "f1"}).Name(); name != "f1" {
		t.Errorf("a follow-up is named %q", name)
	}
	if total := (lineshaft.Usage{InputTokens: 2, OutputTokens: 3, CostMicros: 9}).Total(); total != 5 {
		t.Errorf("total is %d", total)
	}
}
