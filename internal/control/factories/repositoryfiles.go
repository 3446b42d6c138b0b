package factories

import (
	"context"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// maxDefinitionFile is more than any file of a definition may have: what is larger is
// told by its size and not read.
const maxDefinitionFile = 4 << 20

// files reads the folder of the definition.
func (l *look) files(ctx context.Context, commit string) (definition.Files, []lineshaft.FileProblem, error) {
	folder := l.status.Source.Path
	var problems []lineshaft.FileProblem
	found, err := l.s.Cfg.Git.Tree(ctx, l.status.Source.URL, commit, func(name string, size int64) bool {
		inside, ok := inFolder(folder, name)
		if !ok || folder == "" && !ofDefinition(inside) {
			return false
		}
		if size > maxDefinitionFile {
			if ofDefinition(inside) {
				problems = append(problems, lineshaft.FileProblem{File: name, Message: fmt.Sprintf("the file has %d bytes", size), Hint: "make it shorter, or keep it elsewhere"})
			}
			return false
		}
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	files := definition.Files{}
	for name, text := range found {
		if inside, _ := inFolder(folder, name); utf8.ValidString(text) || ofDefinition(inside) {
			files[inside] = text
		}
	}
	if len(files) == 0 && len(problems) == 0 {
		problems = append(problems, l.nothing())
	}
	return files, problems, nil
}

func (l *look) nothing() lineshaft.FileProblem {
	where := "the repository"
	if l.status.Source.Path != "" {
		where = "folder " + l.status.Source.Path
	}
	return lineshaft.FileProblem{
		File: path.Join(l.status.Source.Path, "factory.yaml"), Message: where + " has no definition of a factory",
		Hint: "push a factory.yaml there, or name the folder that has one",
	}
}

// ofDefinition tells files of a definition from others that a repository may have
// beside one at its root.
func ofDefinition(name string) bool {
	top, _, nested := strings.Cut(name, "/")
	if !nested {
		return strings.HasSuffix(name, ".yaml") && strings.HasPrefix(name, "factory") || name == "factory.yml"
	}
	switch top {
	case "agents", "automations", "webhooks", "runners", "skills", "benchmarks", "scorers":
		return true
	}
	return false
}

// inFolder takes the folder of a definition off a path; false for what is elsewhere.
func inFolder(folder, path string) (string, bool) {
	if folder == "" {
		return path, true
	}
	return strings.CutPrefix(path, folder+"/")
}
