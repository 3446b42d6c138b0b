package lineshaft

import (
	"strings"
	"time"
)

// FileProblem is a mistake in a file of a factory's definition. Line and column
// count from 1; 0 means the file as a whole.
type FileProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	// Hint says what to do.
	Hint string `json:"hint,omitempty"`
	// Code is the published one of such mistakes; empty for those that only a server finds.
	Code string `json:"code,omitempty"`
}

// RevisionSource says what made a revision of a definition.
type RevisionSource string

// The sources.
const (
	RevisionEdit       RevisionSource = "edit"
	RevisionApply      RevisionSource = "apply"
	RevisionRollback   RevisionSource = "rollback"
	RevisionRepository RevisionSource = "repository"
)

// Revision is one state of a factory's definition, as a folder.
type Revision struct {
	FactoryUID string
	// Number is the factory's revision at that time. Changes that the definition does
	// not show, such as a pause, have none, so numbers are left out.
	Number int64
	Source RevisionSource
	Actor  Principal
	// Comment says what was changed. Commit is that of the repository, if one was followed.
	Comment string
	Commit  string
	// Files are the digests of the texts, by path.
	Files     map[string]string
	CreatedAt time.Time
}

// Limits of a GitSource.
const (
	MaxRepositoryURL = 2048
	MaxBranchName    = 250
	MaxPathBytes     = 512
)

// GitSource is the repository that a factory follows (F-5).
type GitSource struct {
	URL string `json:"url"`
	// Branch is the one that is followed; empty is the repository's default.
	Branch string `json:"branch"`
	// Path is the folder of the definition in the repository; empty is its root.
	Path string `json:"path"`
}

// GitStatus says how far a factory has followed its repository.
type GitStatus struct {
	FactoryUID string
	Source     GitSource
	// Seen is the newest commit that the server has read, Applied the one in force.
	Seen    string
	Applied string
	// Problems are why Seen is not in force; Fault is why the repository could not be read.
	Problems  []FileProblem
	Fault     string
	CheckedAt time.Time
	AppliedAt time.Time
}

// Validate checks what can be checked without the repository. Whether the server may
// reach the address is for the server to say.
func (g GitSource) Validate(field string) error {
	switch {
	case g.URL == "" || len(g.URL) > MaxRepositoryURL:
		return Invalid(field+".url", "a repository needs an address of 1 to %d bytes, such as https://example.com/owner/repo.git", MaxRepositoryURL)
	case g.Branch != "" && !ValidBranch(g.Branch):
		return Invalid(field+".branch", "%q cannot be the name of a branch", Clip(g.Branch, 80))
	case len(g.Path) > MaxPathBytes:
		return Invalid(field+".path", "longer than %d bytes", MaxPathBytes)
	}
	if g.Path != "" {
		for part := range strings.SplitSeq(g.Path, "/") {
			if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.ContainsAny(part, "\\\n\r") {
				return Invalid(field+".path", "%q is not a folder of a repository; write it as factories/shop, without a slash at either end", Clip(g.Path, 80))
			}
		}
	}
	return checkText(field, g.URL, g.Path)
}

// ValidBranch says whether a name can be one branch's: no option, no pattern, no
// range.
func ValidBranch(name string) bool {
	if name == "" || name == "@" || len(name) > MaxBranchName || strings.HasPrefix(name, "-") || strings.HasSuffix(name, ".") ||
		strings.Contains(name, "..") || strings.Contains(name, "@{") ||
		strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }) {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
