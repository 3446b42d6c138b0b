package catalog

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// The keys of filters. One name means the same for every provider that has it.
const (
	keyRepos        = "repos"
	keyLabels       = "labels"
	keyAuthors      = "authors"
	keyAssignees    = "assignees"
	keyMentioned    = "mentioned"
	keyBranches     = "branches"
	keyBaseBranches = "base_branches"
	keyPRNumbers    = "pr_numbers"
	keyPaths        = "paths"
	keyReviewers    = "reviewers"
	keyTeams        = "reviewer_teams"
	keyReviewStates = "review_states"
	keyConclusions  = "conclusions"
	keyWorkflows    = "workflows"
	keyKeywords     = "keywords"
)

// key is a key that the filters of a provider may have.
type key struct {
	name, doc string
	// alias is the key that this one stands for, and excludes. It has its own values,
	// such as names instead of ids, unless it is only another spelling.
	alias    string
	spelling bool
	// required says that every filter must have it.
	required bool
	form     form
}

// form is how the values of a key are written and compared.
type form struct {
	// kind is what a value is, for people.
	kind string
	// fold takes no account of case; globs are patterns; part looks for the value in
	// a longer text; whole are numbers.
	fold, globs, part, whole bool
	// listed wants a plain list, allowed a list or in, but no not_in.
	listed, allowed bool
	// most bounds the values; 0 is the usual bound.
	most int
	// clean takes off what means nothing.
	clean func(string) string
	// check refuses what no event can have.
	check func(value string) error
	// pattern is what check takes, as a regular expression for readers of schemas; "" takes all.
	pattern string
}

// canonical is the form in which values are compared.
func (f form) canonical(value string) string {
	if f.clean != nil {
		value = f.clean(value)
	}
	if f.fold {
		value = strings.ToLower(value)
	}
	return value
}

// The forms.
func exact(kind string) form   { return form{kind: kind} }
func anyCase(kind string) form { return form{kind: kind, fold: true} }

// named is for what people call a thing that has an id.
func named(kind string) form {
	return form{kind: kind, fold: true, listed: true, clean: strings.TrimSpace, pattern: `\S`}
}

func keyword() form {
	return form{kind: "part of the text", fold: true, part: true, clean: strings.TrimSpace, pattern: `\S`}
}

func login() form {
	return form{kind: "login", fold: true, pattern: `^[^@* ][^* ]*$`, check: func(value string) error {
		if strings.HasPrefix(value, "@") || strings.ContainsAny(value, "* ") {
			return lineshaft.Invalid("", "%q is not a login; write it such as %s, without @ and not as a pattern", value, cmp.Or(strings.Trim(value, "@* "), "octocat"))
		}
		return nil
	}}
}

func mention() form {
	return form{
		kind: "login or org/team", fold: true, pattern: `[^@]`,
		clean: func(value string) string { return strings.TrimPrefix(value, "@") },
	}
}

func repository() form {
	return form{kind: "owner/name, or a pattern", fold: true, globs: true, pattern: `^[^/:]+/([^:]*[^/:])$`, check: func(value string) error {
		owner, name, ok := strings.Cut(value, "/")
		if !ok || owner == "" || name == "" || strings.HasSuffix(value, "/") || strings.Contains(value, ":") {
			return lineshaft.Invalid("", "%q is not a repository; write it as owner/name", value)
		}
		return nil
	}}
}

func branch() form {
	return form{kind: "branch, or a pattern", globs: true, clean: func(value string) string { return strings.TrimPrefix(value, refPrefix) }}
}

func file() form {
	return form{kind: "file, or a pattern", globs: true, pattern: `^(\.|[^./]|\.?[^./].*[^/]|\.[^/])$`, check: func(value string) error {
		if plain := strings.TrimPrefix(strings.TrimPrefix(value, "."), "/"); plain != value && strings.HasPrefix(strings.TrimPrefix(value, "."), "/") {
			return lineshaft.Invalid("", "%q: paths begin at the top of the repository; write %s", value, cmp.Or(plain, "**"))
		}
		if strings.HasSuffix(value, "/") {
			return lineshaft.Invalid("", "%q is a folder, and paths are files; write %s** for all that is in it", value, value)
		}
		return nil
	}}
}

func wholeNumber() form {
	return form{kind: "whole number", whole: true, pattern: `^[1-9][0-9]*$`, check: func(value string) error {
		if !lineshaft.WholeNumber(value) || strings.HasPrefix(value, "-") || value == "0" {
			return lineshaft.Invalid("", "%q is not the number of a pull request; write it such as 42", value)
		}
		return nil
	}}
}

// word is one of some words, in any case and with _, - or a space between its parts.
func word(kind string, known ...string) form {
	plain := func(value string) string {
		return strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(value)))
	}
	return form{kind: kind, fold: true, clean: plain, pattern: wordPattern(known), check: func(value string) error {
		if !slices.Contains(known, value) {
			return lineshaft.Invalid("", "%q is not a known %s; there are %s", value, kind, strings.Join(nearest.Words(value, known, len(known)), ", "))
		}
		return nil
	}}
}

// wordPattern takes the words in small letters or in capitals; schemas know no case.
func wordPattern(known []string) string {
	words := strings.ReplaceAll(strings.Join(known, "|"), "_", "[_ -]")
	return `^(` + words + `|` + strings.ToUpper(words) + `)$`
}

var skinTone = regexp.MustCompile(`:?:skin-tone-[1-6]:?$`)

// plainEmoji is the name of an emoji without colons and skin tone.
func plainEmoji(value string) string {
	return strings.Trim(skinTone.ReplaceAllString(strings.TrimSpace(value), ""), ":")
}

func emoji() form {
	return form{kind: "name of an emoji", fold: true, clean: plainEmoji, pattern: `[^:\s]`}
}

// channelName is written with or without #.
func channelName() form {
	f := named("name of a channel, with or without #")
	f.pattern = `[^#\s]`
	f.clean = func(value string) string { return strings.TrimPrefix(strings.TrimSpace(value), "#") }
	return f
}

func userName() form {
	f := named("name of a user, with or without @")
	f.pattern = `[^@\s]`
	f.clean = func(value string) string { return strings.TrimPrefix(strings.TrimSpace(value), "@") }
	return f
}
