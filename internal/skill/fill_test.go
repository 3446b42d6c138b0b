package skill_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/skill"
)

func TestX8ArgumentsAreFilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, arguments, want string
		filled                bool
	}{
		{"Fix $ARGUMENTS.", "issue 7", "Fix issue 7.", true},
		{"Fix $0 in $1", "bug main.go", "Fix bug in main.go", true},
		{"Fix $ARGUMENTS[1], $ARGUMENTS[0]", "a b", "Fix b, a", true},
		{"$0 $5", "a b", "a $5", true},
		{"$5 and $ARGUMENTS[9]", "a b", "$5 and $ARGUMENTS[9]", false},
		{"$ARGUMENTS[x] $ARGUMENTS[", "a", "a[x] a[", true},
		{"$ARGUMENTSX $ARGUMENT $ $$ ${0} $x", "a", "$ARGUMENTSX $ARGUMENT $ $$ ${0} $x", false},
		{"$ARGUMENTS", "", "", true},
		{"$0", "", "$0", false},
		{"no placeholder", "a", "no placeholder", false},
		{"$10 $1", "a b", "$10 b", true},
		{"$00000000000000000000000000001", "a b", "b", true},
		{"$99999999999999999999999999999", "a b", "$99999999999999999999999999999", false},
		// What is filled in is not looked at again.
		{"$0 $1", "$1 $0", "$1 $0", true},
		{"[$0] [$1]", `'a b' "c \"d\" e"`, `[a b] [c "d" e]`, true},
		{"[$0] [$1] [$2]", `don't --x="a b" y`, `[don't] [--x=a b] [y]`, true},
		{"[$0] [$1]", `a\ b c\d`, `[a b] [c\d]`, true},
		{"[$0] [$1]", `'open end`, `['open] [end]`, true},
		{"[$0] [$1]", `"" x`, `[] [x]`, true},
		{"[$0] [$1]", "  a\n\tb ", "[a] [b]", true},
	} {
		if got, filled := skill.Fill(c.body, c.arguments); got != c.want || filled != c.filled {
			t.Errorf("%q with %q is %q, %t; want %q, %t", c.body, c.arguments, got, filled, c.want, c.filled)
		}
	}
}

func TestX8FillingKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.StringMatching(`[^$]{0,30}`)
		before, after, arguments := plain.Draw(t, "before"), plain.Draw(t, "after"), rapid.String().Draw(t, "arguments")
		if after != "" && strings.ContainsAny(after[:1], "[_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") {
			after = "." + after
		}
		got, filled := skill.Fill(before+"$ARGUMENTS"+after, arguments)
		if !filled || got != before+arguments+after {
			t.Fatalf("became %q", got)
		}
		if got, filled := skill.Fill(before+after, arguments); filled || got != before+after {
			t.Fatalf("text without a placeholder became %q", got)
		}
	})
}

func TestX7PromptIsComposed(t *testing.T) {
	t.Parallel()
	plain, filled := lineshaft.Skill{Body: "Be kind."}, lineshaft.Skill{Body: "Do $ARGUMENTS."}
	for name, c := range map[string]struct {
		base   string
		skills []lineshaft.Skill
		prompt string
		want   string
	}{
		"prompt alone":         {"", nil, "p", "p"},
		"base and prompt":      {"b", nil, "p", "b\n\np"},
		"without placeholders": {"b", []lineshaft.Skill{plain}, "p", "b\n\nBe kind.\n\np"},
		"with placeholders":    {"b", []lineshaft.Skill{filled}, "p", "b\n\nDo p."},
		"several":              {"", []lineshaft.Skill{plain, filled, plain}, "p", "Be kind.\n\nDo p.\n\nBe kind."},
		"skill alone":          {"", []lineshaft.Skill{plain}, "", "Be kind."},
		"empty skill":          {"b", []lineshaft.Skill{{}}, "p", "b\n\np"},
		"nothing":              {"", nil, "", ""},
	} {
		if got := skill.Compose(c.base, c.skills, c.prompt); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A body of 256 KiB could ask for a prompt of 1 MiB ten thousands of times.
func TestX7ComposedPromptIsBounded(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("x", lineshaft.MaxPromptBytes)
	few := []lineshaft.Skill{{Body: "$0 $0"}}
	if err := skill.CheckSize("", few, prompt); err != nil {
		t.Error(err)
	}
	many := []lineshaft.Skill{{Body: strings.Repeat("$0 ", lineshaft.MaxSkillBytes/3)}}
	if err := skill.CheckSize("", many, prompt); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
		t.Errorf("error is %v", err)
	}
	var largest []lineshaft.Skill
	for range lineshaft.MaxSkills {
		largest = append(largest, lineshaft.Skill{Body: strings.Repeat("b", lineshaft.MaxSkillBytes)})
	}
	if err := skill.CheckSize(prompt, largest, prompt); err != nil {
		t.Errorf("what every limit allows is refused: %v", err)
	}
}

func FuzzX8Fill(f *testing.F) {
	f.Add("Fix $ARGUMENTS[1] $0 $ARGUMENTS", `a "b c" d\ e`)
	f.Add("$$0$ARGUMENTS[", `'"`)
	f.Fuzz(func(t *testing.T, body, arguments string) {
		got, filled := skill.Fill(body, arguments)
		if !filled && got != body {
			t.Fatalf("%q became %q although nothing was filled", body, got)
		}
		if !strings.Contains(body, "$") && filled {
			t.Fatalf("%q has no placeholder", body)
		}
		skills := []lineshaft.Skill{{Body: body}}
		if composed := skill.Compose("", skills, arguments); skill.CheckSize("", skills, arguments) == nil && len(composed) > lineshaft.MaxComposedBytes+8 {
			t.Fatalf("%d bytes were let through", len(composed))
		}
	})
}
