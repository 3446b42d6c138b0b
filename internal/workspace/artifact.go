package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tree"
)

// Artifact is a file that the agent left to be kept.
type Artifact struct {
	// Path is relative to the artifacts folder, with slashes.
	Path     string
	MimeType string
	Size     int64
}

// Name is the last part of the path.
func (a Artifact) Name() string { return path.Base(a.Path) }

// Artifacts hands every new or changed file of the artifacts folder to take, in
// the order of their paths. A file counts as taken when take returned nil; its
// error ends the round, and the next round continues there. The notices say which
// files were left out and why.
func (w *Workspace) Artifacts(ctx context.Context, take func(Artifact, io.Reader) error) (notices []string, err error) {
	if !w.hasArtifacts() {
		return nil, nil
	}
	c := collector{w: w, take: take}
	err = w.walk(ctx, ArtifactsDir, tree.Walker{Entries: w.limits.Entries, Visit: c.visit, Left: c.left})
	if c.taken > 0 {
		err = errors.Join(err, w.writeState())
	}
	if err != nil && !errors.Is(err, errStop) {
		return c.notices, fmt.Errorf("collect artifacts: %w", err)
	}
	return c.notices, nil
}

// hasArtifacts is false when the agent removed the folder or put something else,
// such as a link out, in its place: nothing was left for us then.
func (w *Workspace) hasArtifacts() bool {
	info, err := w.root.Lstat(ArtifactsDir)
	return err == nil && info.IsDir()
}

type collector struct {
	w       *Workspace
	take    func(Artifact, io.Reader) error
	taken   int
	bytes   int64 // of what was taken: a hole on the disk is bytes in the store
	notices []string
}

func (c *collector) visit(e *tree.Entry) error {
	if e.Info.Mode.IsDir() {
		return nil
	}
	rel := e.Path()
	old, known := c.w.state.Artifacts[rel]
	if known && old == stampOf(e.Info) {
		return nil
	}
	if c.taken >= c.w.limits.ArtifactFiles {
		c.noticef("more than %d artifacts after one turn; the rest was left out", c.w.limits.ArtifactFiles)
		return errStop
	}
	if why := c.refuse(e.Info); why != "" {
		c.noticef("artifact %q was left out: %s", rel, why)
		return nil
	}
	return c.collect(e, rel)
}

// left says which part of the folder was not read.
func (c *collector) left(rel string, why error) {
	if errors.Is(why, tree.ErrMany) {
		c.noticef("the artifacts folder has more than %d entries; the rest was left out", c.w.limits.Entries)
		return
	}
	c.noticef("artifacts in %q were left out: %s", lineshaft.Clip(rel, 100), reason(why))
}

// refuse says why a file is not taken; empty if it is.
func (c *collector) refuse(info tree.Info) string {
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		return "it is a symbolic link; copy the file instead"
	case !info.Mode.IsRegular():
		return "it is not a regular file"
	case info.Links > 1:
		// Another name of it may be anywhere on the disk.
		return "it is a hard link; copy the file instead"
	case info.Size > c.w.limits.ArtifactBytes:
		return fmt.Sprintf("it has %d bytes; at most %d are kept", info.Size, c.w.limits.ArtifactBytes)
	case c.bytes+info.Size > c.w.limits.TurnBytes:
		return fmt.Sprintf("with it the artifacts of this turn have more than %d bytes", c.w.limits.TurnBytes)
	}
	return ""
}

func (c *collector) collect(e *tree.Entry, rel string) error {
	f, info, err := e.Open()
	if err != nil {
		c.noticef("artifact %q was left out: it could not be read", rel)
		return nil
	}
	defer func() { _ = f.Close() }()
	// Its size or name may have changed since the first look.
	if why := c.refuse(info); why != "" {
		c.noticef("artifact %q was left out: %s", rel, why)
		return nil
	}
	kind, err := mimeType(rel, f)
	if err != nil {
		return fmt.Errorf("artifact %q: %w", rel, err)
	}
	// A file that still grows is cut where it stood.
	err = c.take(Artifact{Path: strings.ToValidUTF8(rel, "\uFFFD"), MimeType: kind, Size: info.Size}, io.LimitReader(f, info.Size))
	if err != nil {
		return fmt.Errorf("artifact %q: %w", rel, err)
	}
	c.taken++
	c.bytes += info.Size
	if c.w.state.Artifacts == nil {
		c.w.state.Artifacts = map[string]stamp{}
	}
	c.w.state.Artifacts[rel] = stampOf(info)
	return nil
}

func (c *collector) noticef(format string, args ...any) {
	const most = 20
	switch {
	case len(c.notices) < most:
		c.notices = append(c.notices, fmt.Sprintf(format, args...))
	case len(c.notices) == most:
		c.notices = append(c.notices, "more artifacts were left out")
	}
}

func mimeType(name string, f io.ReadSeeker) (string, error) {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind, nil
	}
	var head [512]byte
	n, err := io.ReadFull(f, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return "", err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	if text := head[:n]; utf8.Valid(bytes.TrimRightFunc(text, isCut)) && !bytes.ContainsRune(text, 0) {
		return "text/plain; charset=utf-8", nil
	}
	return "application/octet-stream", nil
}

// isCut says that the end of a sample may be the beginning of a longer character.
func isCut(r rune) bool { return r == utf8.RuneError }

func stampOf(info tree.Info) stamp {
	return stamp{Size: info.Size, Nanos: info.Modified.UnixNano(), Inode: info.Inode}
}

// reason is why something was left out, without what only the log may hold.
func reason(err error) string {
	for _, known := range []error{tree.ErrDeep, tree.ErrMany, tree.ErrMoved} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return "it could not be read"
}

const (
	// urlTail bounds what is kept of a text without spaces, in which a URL may have begun.
	urlTail = 2 << 10
	// maxPullRequests bounds what one agent can report by printing.
	maxPullRequests = 100
)

// PullRequests finds the addresses of pull requests in text that comes in pieces.
// It knows the forms of GitHub, GitLab, Bitbucket and Gitea on any host. Each
// address is reported once. The zero value is ready; it is not for concurrent use.
type PullRequests struct {
	tail string
	seen map[string]bool
}

// pullRequestURL is the address without what may follow the number. Addresses
// with a user name or a password in them are left alone.
var pullRequestURL = regexp.MustCompile(`https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?/(?:` +
	`[\w.-]+/[\w.-]+/pulls?/[0-9]{1,18}` + // GitHub, Gitea
	`|(?:[\w.-]+/)+-/merge_requests/[0-9]{1,18}` + // GitLab
	`|(?:[\w.~-]+/)+pull-requests/[0-9]{1,18}` + // Bitbucket
	`)(?:[^\w-]|$)`)

// Add looks through the next piece and returns the addresses that are complete.
func (p *PullRequests) Add(text string) []string {
	text = p.tail + text
	cut := strings.LastIndexAny(text, " \t\r\n\"'<>`") + 1
	p.tail = text[cut:]
	found := p.find(text[:cut])
	if len(p.tail) > 2*urlTail {
		// No agent prints an address this long: give up on all but the end.
		found = append(found, p.find(p.tail[:len(p.tail)-urlTail])...)
		p.tail = p.tail[len(p.tail)-urlTail:]
	}
	return found
}

// Flush returns what the end of the text completes.
func (p *PullRequests) Flush() []string {
	text := p.tail
	p.tail = ""
	return p.find(text)
}

func (p *PullRequests) find(text string) []string {
	// The expression is slow beside these, and few lines of output have an address.
	if !strings.Contains(text, "://") || !strings.Contains(text, "/pull") && !strings.Contains(text, "/merge_requests/") {
		return nil
	}
	var found []string
	for _, match := range pullRequestURL.FindAllString(text, -1) {
		url := strings.TrimRightFunc(match, func(r rune) bool { return r < '0' || r > '9' })
		if p.seen[url] || len(p.seen) >= maxPullRequests {
			continue
		}
		if p.seen == nil {
			p.seen = map[string]bool{}
		}
		p.seen[url] = true
		found = append(found, url)
	}
	return found
}
