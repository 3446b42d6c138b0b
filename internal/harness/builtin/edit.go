package builtin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

const (
	readLines = 2000
	maxRead   = maxResult - 1024 // leaves room for the line about the rest
)

func readTool() tool {
	return tool{category: "files", run: runRead, Tool: chat.Tool{
		Name: "read", Description: "Read a text file of the workspace.",
		Schema: schema(
			[3]string{"path", "string", "the file, relative to the workspace"},
			[3]string{"offset?", "integer", "the first line to give, from 1"},
			[3]string{"limit?", "integer", fmt.Sprintf("the number of lines; %d if not given", readLines)},
		),
	}}
}

func runRead(_ context.Context, t *turn, call invocation) outcome {
	var in struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
		Limit  int    `json:"limit"`
	}
	text, err := t.fileOf(call, &in, &in.Path)
	if err != nil {
		return problem(err)
	}
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return problem(fmt.Errorf("%s is not a text file (%d bytes)", in.Path, len(text)))
	}
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	from := min(max(in.Offset-1, 0), len(lines))
	to := min(from+cmp.Or(max(in.Limit, 0), readLines), len(lines))
	size := 0
	for i := from; i < to; i++ {
		if size += len(lines[i]); size > maxRead && i > from {
			to = i
		}
	}
	out := strings.Join(lines[from:to], "")
	if from > 0 || to < len(lines) {
		out += fmt.Sprintf("\n[lines %d to %d of %d]", from+1, to, len(lines))
	}
	result := done("%s", out)
	result.output = map[string]any{"lines": to - from, "bytes": len(out)}
	return result
}

// fileOf decodes the arguments, and reads the file that one of them names; it sets given
// to the file's path below the workspace.
func (t *turn) fileOf(call invocation, in any, given *string) ([]byte, error) {
	if err := call.decode(in); err != nil {
		return nil, err
	}
	name, err := t.files.place(*given)
	if err != nil {
		return nil, err
	}
	*given = name
	text, err := t.files.read(name)
	if err != nil {
		return nil, t.errText(err)
	}
	return text, nil
}

func writeTool() tool {
	return tool{category: "files", guarded: true, run: runWrite, Tool: chat.Tool{
		Name: "write", Description: "Write a file of the workspace, over an older one. Folders are made as needed.",
		Schema: schema(
			[3]string{"path", "string", "the file, relative to the workspace"},
			[3]string{"content", "string", "the whole content"},
		),
	}}
}

func runWrite(_ context.Context, t *turn, call invocation) outcome {
	var in struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}
	if err := call.decode(&in); err != nil {
		return problem(err)
	}
	if in.Content == nil {
		return problem(errors.New("content is missing"))
	}
	name, err := t.files.place(in.Path)
	if err != nil {
		return problem(err)
	}
	made, err := t.files.write(name, []byte(*in.Content))
	switch {
	case err != nil:
		return problem(t.errText(err))
	case made:
		return done("Made %s with %d bytes.", name, len(*in.Content))
	}
	return done("Wrote %d bytes over %s.", len(*in.Content), name)
}

func editTool() tool {
	return tool{category: "files", guarded: true, run: runEdit, Tool: chat.Tool{
		Name:        "edit",
		Description: "Replace a text in a file of the workspace. The old text must be in the file exactly, once; give enough of what is around it.",
		Schema: schema(
			[3]string{"path", "string", "the file, relative to the workspace"},
			[3]string{"old", "string", "the text to replace, exactly as it is in the file"},
			[3]string{"new", "string", "what comes in its place"},
			[3]string{"all?", "boolean", "replace every occurrence"},
		),
	}}
}

func runEdit(_ context.Context, t *turn, call invocation) outcome {
	var in struct {
		Path string `json:"path"`
		Old  string `json:"old"`
		New  string `json:"new"`
		All  bool   `json:"all"`
	}
	text, err := t.fileOf(call, &in, &in.Path)
	if err != nil {
		return problem(err)
	}
	if in.Old == "" || in.Old == in.New {
		return problem(errors.New("old must be a text that differs from new; use write to make a file"))
	}
	n := bytes.Count(text, []byte(in.Old))
	switch {
	case n == 0:
		return problem(fmt.Errorf("the old text is not in %s; read the file and give it exactly, white space included", in.Path))
	case n > 1 && !in.All:
		return problem(fmt.Errorf("the old text is in %s %d times; give more of what is around it, or set all", in.Path, n))
	}
	if size := len(text) + n*(len(in.New)-len(in.Old)); size > maxFile {
		return problem(fmt.Errorf("%s would have %d bytes, more than the %d that this tool writes", in.Path, size, maxFile))
	}
	if _, err := t.files.write(in.Path, bytes.ReplaceAll(text, []byte(in.Old), []byte(in.New))); err != nil {
		return problem(t.errText(err))
	}
	return done("Replaced %d in %s.", n, in.Path)
}
