package definition

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Limits of a folder. A file has room for the longest prompt and its front matter.
const (
	MaxFiles     = 2000
	MaxFileBytes = lineshaft.MaxPromptBytes + maxYAML
	MaxBytes     = 16 << 20
)

// Bytes is how long the texts of a folder are together.
func (f Files) Bytes() (total int) {
	for _, text := range f {
		total += len(text)
	}
	return total
}

// checkFiles checks the folder itself: its size, and the names and texts of its
// files. What is too large is not read at all.
func (p *parsing) checkFiles(files Files) bool {
	total := files.Bytes()
	if len(files) > MaxFiles || total > MaxBytes {
		p.add(lineshaft.FileProblem{
			File: ".", Message: fmt.Sprintf("the folder has %d files with %d bytes", len(files), total), Hint: fmt.Sprintf("at most %d files with %d bytes are allowed; check that this is the folder of a factory", MaxFiles, MaxBytes),
		})
		return false
	}
	folded := map[string]string{}
	for _, name := range sortedPaths(files) {
		if other, twice := folded[lineshaft.FoldCase(name)]; twice {
			p.file(name, fmt.Sprintf("%s differs from it only in upper and lower case, and some systems take both for one", other), "rename one of them").as(CodeDuplicatePath)
		}
		folded[lineshaft.FoldCase(name)] = name
	}
	return true
}

func (p *parsing) file(name, message, hint string) finding {
	return p.add(lineshaft.FileProblem{File: name, Message: message, Hint: hint})
}

func (p *parsing) checkFile(name, text string) bool {
	switch {
	case !safePath(name):
		p.file(cmp.Or(lineshaft.Clip(strings.ToValidUTF8(name, "?"), 200), "."), "this is not a path inside the folder", "use relative paths with slashes, without .. and backslashes").as(CodeUnsupportedPath)
	case len(text) > MaxFileBytes:
		p.file(name, fmt.Sprintf("the file has %d bytes", len(text)), fmt.Sprintf("at most %d are allowed; remove it or make it shorter", MaxFileBytes))
	case !storable(text):
		line, column := badText(text)
		p.add(lineshaft.FileProblem{File: name, Line: line, Column: column, Code: CodeInvalidDocument, Message: "the file is not UTF-8 text, or has NUL characters", Hint: "save it as UTF-8, or keep it outside of the folder"})
	default:
		return true
	}
	return false
}

// badText is where a text stops being UTF-8 without NUL.
func badText(text string) (line, column int) {
	line, column = 1, 1
	for i, c := range text {
		switch {
		case c == 0 || c == '\ufffd' && text[i] != 0xef:
			return line, column
		case c == '\n':
			line, column = line+1, 1
		default:
			column++
		}
	}
	return line, column
}

// safePath says whether a path stays inside of a folder, on every system.
func safePath(name string) bool {
	return name != "" && len(name) <= 1024 && storable(name) && path.Clean(name) == name && name != "." && name != ".." &&
		!strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "../") && !strings.ContainsAny(name, "\\\n\r") &&
		!(len(name) > 1 && name[1] == ':')
}
