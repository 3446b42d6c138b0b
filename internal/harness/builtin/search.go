package builtin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

// The bounds of a search through a workspace: an agent may have filled it.
const (
	maxListed   = 1000
	maxVisited  = 50_000
	maxDepth    = 40
	maxMatches  = 200
	maxSearched = 2 << 20 // size of a file
	searchTime  = 30 * time.Second
)

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// walker visits a tree, in the order of names in each folder, and follows no links.
type walker struct {
	root    *os.Root
	visited int
	visit   func(name string, info fs.DirEntry, depth int) error
}

func (w *walker) walk(ctx context.Context, dir string, depth int) error {
	// A pipe in its place must not block.
	folder, err := w.root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	entries, err := folder.ReadDir(maxVisited)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, folder.Close()); err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, entry := range entries {
		if w.visited++; w.visited > maxVisited {
			return errEnough
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := path.Join(dir, entry.Name())
		err := w.visit(name, entry, depth)
		if errors.Is(err, fs.SkipDir) {
			continue
		}
		if err != nil {
			return err
		}
		// A folder that cannot be read, or is gone, is skipped.
		if entry.IsDir() && depth < maxDepth {
			if err := w.walk(ctx, name, depth+1); errors.Is(err, errEnough) || ctx.Err() != nil {
				return err
			}
		}
	}
	return nil
}

func listTool() tool {
	return tool{category: "files", run: runList, Tool: chat.Tool{
		Name: "list", Description: "List a folder of the workspace. Folders end with a slash.",
		Schema: schema(
			[3]string{"path?", "string", "the folder, relative to the workspace; the workspace itself if not given"},
			[3]string{"depth?", "integer", "how many levels to go down; 1 if not given"},
		),
	}}
}

func runList(ctx context.Context, t *turn, call invocation) outcome {
	var in struct {
		Path  string `json:"path"`
		Depth int    `json:"depth"`
	}
	name, err := t.folderOf(call, &in, &in.Path)
	if err != nil {
		return problem(err)
	}
	in.Depth = max(in.Depth, 1)
	var out strings.Builder
	listed := 0
	w := walker{root: t.files.root, visit: func(name string, entry fs.DirEntry, depth int) error {
		if listed++; listed > maxListed {
			return errEnough
		}
		out.WriteString(name)
		switch {
		case entry.IsDir():
			out.WriteString("/")
		case entry.Type()&fs.ModeSymlink != 0:
			target, _ := t.files.root.Readlink(name) // gone meanwhile: no target is shown
			out.WriteString(" -> " + target)
		}
		out.WriteString("\n")
		if depth >= in.Depth || entry.Name() == ".git" {
			return fs.SkipDir
		}
		return nil
	}}
	err = w.walk(ctx, name, 1)
	switch {
	case errors.Is(err, errEnough):
		out.WriteString("[there is more; list a folder below]\n")
	case err != nil:
		return problem(t.errText(t.files.explain(name, err)))
	}
	return done("%s", out.String())
}

// folderOf decodes the arguments and finds the place that one of them names.
func (t *turn) folderOf(call invocation, in any, given *string) (string, error) {
	if err := call.decode(in); err != nil {
		return "", err
	}
	return t.files.place(*given)
}

func searchTool() tool {
	return tool{category: "search", run: runSearch, Tool: chat.Tool{
		Name:        "search",
		Description: "Find the lines of files in the workspace that match a regular expression (RE2). .git is left out, and so are large and binary files.",
		Schema: schema(
			[3]string{"pattern", "string", "the regular expression"},
			[3]string{"path?", "string", "a folder or file to look in; the workspace if not given"},
			[3]string{"glob?", "string", "only files whose name fits, such as *.go"},
		),
	}}
}

type searchInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
	Glob    string `json:"glob"`
}

func runSearch(ctx context.Context, t *turn, call invocation) outcome {
	var in searchInput
	name, err := t.folderOf(call, &in, &in.Path)
	if err != nil {
		return problem(err)
	}
	pattern, err := regexp.Compile(in.Pattern)
	if err != nil {
		return problem(fmt.Errorf("the pattern cannot be used: %w", err))
	}
	if _, err := path.Match(in.Glob, ""); err != nil {
		return problem(fmt.Errorf("the glob cannot be used: %w", err))
	}
	bounded, cancel := context.WithTimeoutCause(ctx, searchTime, errEnough)
	defer cancel()
	found := &matches{files: &t.files, pattern: pattern}
	info, err := t.files.root.Stat(name)
	switch {
	case err != nil:
		return problem(t.errText(t.files.explain(name, err)))
	case !info.IsDir():
		err = found.file(bounded, name)
	default:
		w := walker{root: t.files.root, visit: func(name string, entry fs.DirEntry, _ int) error {
			return found.entry(bounded, name, entry, in.Glob)
		}}
		err = w.walk(bounded, name, 1)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return problem(t.errText(err))
	}
	if err != nil {
		found.out.WriteString("[there may be more; search in a folder below or for something rarer]\n")
	}
	out := done("%s", cmp.Or(found.out.String(), "Nothing matches."))
	out.output = map[string]any{"matches": found.count}
	return out
}

// matches gathers the lines that fit.
type matches struct {
	files   *files
	pattern *regexp.Regexp
	out     strings.Builder
	count   int
}

func (m *matches) entry(ctx context.Context, name string, entry fs.DirEntry, glob string) error {
	if entry.IsDir() {
		if entry.Name() == ".git" || entry.Name() == lineshaft.PrivateFolder {
			return fs.SkipDir
		}
		return nil
	}
	if fits, _ := path.Match(glob, entry.Name()); glob != "" && !fits || !entry.Type().IsRegular() {
		return nil
	}
	return m.file(ctx, name)
}

func (m *matches) file(ctx context.Context, name string) error {
	file, info, err := m.files.open(name, os.O_RDONLY)
	if err != nil || info.Size() > maxSearched {
		if file != nil {
			_ = file.Close()
		}
		return nil // what cannot be read holds no matches
	}
	text, err := io.ReadAll(io.LimitReader(file, maxSearched))
	_ = file.Close()
	if err != nil || bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return nil
	}
	number := 0
	for line := range bytes.Lines(text) {
		number++
		if number%1000 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if !m.pattern.Match(bytes.TrimRight(line, "\r\n")) {
			continue
		}
		if m.count++; m.count > maxMatches {
			return errEnough
		}
		fmt.Fprintf(&m.out, "%s:%d: %s\n", name, number, cut(strings.ToValidUTF8(strings.TrimSpace(string(line)), "\ufffd"), 300))
	}
	return nil
}
