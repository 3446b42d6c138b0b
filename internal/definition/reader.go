package definition

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// reader reads one document of a folder.
type reader struct {
	*findings
	file string
	// kind and name are those of the part that the document describes.
	kind Kind
	name string
	// above is how many lines of the file come before the YAML.
	above int
}

func (r *reader) report(line, column int, message, hint string) finding {
	if line > 0 {
		line += r.above
	}
	return r.add(lineshaft.FileProblem{File: r.file, Line: line, Column: column, Message: message, Hint: hint})
}

func (r *reader) wrong(n *node, path, message, hint string) finding {
	if path != "" {
		message = path + ": " + message
	}
	return r.report(n.line, n.column, message, hint)
}

func (r *reader) wrongKind(n *node, path, want, hint string) {
	code := CodeTypeMismatch
	if path == "" {
		code = CodeInvalidDocument
	}
	r.wrong(n, path, fmt.Sprintf("is %s; expected %s", n.kind, want), hint).as(code)
}

// invalid reports an error of a check at a value. Texts of checks end with what to
// do, after a semicolon.
func (r *reader) invalid(n *node, path string, err error) {
	message, hint := advice(err)
	r.wrong(n, path, message, hint)
}

// advice splits the text of a check into what is wrong and what to do.
func advice(err error) (message, hint string) {
	message = err.Error()
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		message = pub.Message
	}
	message, hint, _ = strings.Cut(fileWords(message), "; ")
	if hint == "" && strings.Contains(message, "is only for") {
		hint = "take it out"
	}
	return message, cmp.Or(hint, "correct the value")
}

func (r *reader) note(path string, line, column int) {
	if line > 0 {
		line += r.above
	}
	r.places[placeKey(r.kind, r.name, path)] = place{file: r.file, line: line, column: column}
}

// blame reports the error of a noun's own check where the field that it names is.
func (r *reader) blame(err error, prefix string) {
	if err == nil {
		return
	}
	path := prefix
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok && pub.Field != "" {
		path = joinPath(prefix, strings.TrimPrefix(strings.TrimPrefix(pub.Field, "config."), "."))
	}
	message, hint := advice(err)
	at, found := findPlace(r.places, r.kind, r.name, path)
	if !found {
		at = place{file: r.file, line: 1, column: 1}
	}
	r.add(lineshaft.FileProblem{File: at.file, Line: at.line, Column: at.column, Message: camelPath(path) + ": " + message, Hint: hint})
}
