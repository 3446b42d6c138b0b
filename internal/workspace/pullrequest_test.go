package workspace

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestR11PullRequestForms(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"github", "see https://github.com/o/r/pull/12", []string{"https://github.com/o/r/pull/12"}},
		{"own host and port", "http://git.corp:8443/o/r.x/pull/7\n", []string{"http://git.corp:8443/o/r.x/pull/7"}},
		{"gitlab", "https://gitlab.com/a/b/c/-/merge_requests/3", []string{"https://gitlab.com/a/b/c/-/merge_requests/3"}},
		{"bitbucket", "https://bitbucket.org/w/r/pull-requests/9", []string{"https://bitbucket.org/w/r/pull-requests/9"}},
		{"bitbucket server", "https://bb.corp/projects/P/repos/r/pull-requests/9/overview", []string{"https://bb.corp/projects/P/repos/r/pull-requests/9"}},
		{"gitea", "https://codeberg.org/o/r/pulls/4", []string{"https://codeberg.org/o/r/pulls/4"}},
		{"what follows is cut", "(https://github.com/o/r/pull/12/files#diff-1).", []string{"https://github.com/o/r/pull/12"}},
		{"comma and bracket", "[https://github.com/o/r/pull/1,https://github.com/o/r/pull/2]", []string{"https://github.com/o/r/pull/1", "https://github.com/o/r/pull/2"}},
		{"twice", "https://github.com/o/r/pull/1 https://github.com/o/r/pull/1", []string{"https://github.com/o/r/pull/1"}},
		{"invitation to open one", "https://github.com/o/r/pull/new/topic", nil},
		{"gitlab invitation", "https://gitlab.com/o/r/-/merge_requests/new?x=1", nil},
		{"interface address", "https://api.github.com/repos/o/r/pulls/5", nil},
		{"not a number", "https://github.com/o/r/pull/12abc", nil},
		{"issue", "https://github.com/o/r/issues/12", nil},
		{"with a password", "https://me:secret@github.com/o/r/pull/12", nil},
		{"other scheme", "ftp://github.com/o/r/pull/12", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var p PullRequests
			got := append(p.Add(test.text), p.Flush()...)
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

// The pieces that output comes in must not change what is found.
func TestR11PullRequestAcrossPieces(t *testing.T) {
	t.Parallel()
	const text = "pushed\nhttps://github.com/acme/shop/pull/1234\nand https://gitlab.com/a/b/-/merge_requests/56. done"
	want := []string{"https://github.com/acme/shop/pull/1234", "https://gitlab.com/a/b/-/merge_requests/56"}
	rapid.Check(t, func(t *rapid.T) {
		var p PullRequests
		var got []string
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got = append(got, p.Add(rest[:n])...)
			rest = rest[n:]
		}
		if got = append(got, p.Flush()...); !slices.Equal(got, want) {
			t.Fatalf("found %q, want %q", got, want)
		}
	})
}

func TestR11PullRequestBounds(t *testing.T) {
	t.Parallel()
	var p PullRequests
	for range 100 {
		p.Add(strings.Repeat("x", 1<<10))
	}
	if len(p.tail) > 2*urlTail {
		t.Errorf("a line without spaces keeps %d bytes", len(p.tail))
	}
	found := 0
	for i := range 3 * maxPullRequests {
		found += len(p.Add(fmt.Sprintf(" https://github.com/o/r/pull/%d ", i)))
	}
	if found != maxPullRequests {
		t.Errorf("%d addresses reported, want %d", found, maxPullRequests)
	}
}

func FuzzR11PullRequests(f *testing.F) {
	f.Add("https://github.com/o/r/pull/12 ", 3)
	f.Add("https://gitlab.com/a/b/-/merge_requests/1\"", 20)
	f.Fuzz(func(t *testing.T, text string, at int) {
		var whole, split PullRequests
		want := append(whole.Add(text), whole.Flush()...)
		at = max(0, min(at, len(text)))
		got := append(split.Add(text[:at]), split.Add(text[at:])...)
		got = append(got, split.Flush()...)
		if len(text) < urlTail && !slices.Equal(got, want) {
			t.Errorf("cut at %d: %q, whole: %q", at, got, want)
		}
	})
}
