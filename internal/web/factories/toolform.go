package factories

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// toolForms are the tool servers of an agent or an automation as its form has them.
type toolForms struct {
	Rows []toolForm
	// Draft is where rows are added and removed, Empty what having none means.
	Draft, Empty string
	// Shrunk says that a row is gone.
	Shrunk bool
	stored map[string]lineshaft.MCPServer
}

// toolForm is one tool server: texts, right or wrong. A value that is not the name of a
// secret is not in them, but lineshaft.HiddenValue.
type toolForm struct {
	// Was is the name that the server is stored under; empty for a new one.
	Was                              string
	Name, URL, Headers, Command, Env string
	// WarpID is kept for those who move here; nothing offers it.
	WarpID string
	// ID distinguishes the fields of the rows, Number counts them from 1.
	ID     string
	Number int
	// Fresh is set for one that was just added.
	Fresh bool
	// Wrong is what is wrong with it.
	Wrong string
}

func showTools(stored map[string]lineshaft.MCPServer, draft, empty string) toolForms {
	f := toolForms{Draft: draft, Empty: empty, stored: stored}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		f.Rows = append(f.Rows, showTool(name, stored[name]))
	}
	f.number()
	return f
}

func showTool(name string, server lineshaft.MCPServer) toolForm {
	server = server.Shown()
	row := toolForm{
		Was: name, Name: name, URL: server.URL, WarpID: server.WarpID,
		Headers: valueLines(server.Headers, ": "), Env: valueLines(server.Env, "="),
	}
	if server.Command != "" {
		row.Command = strings.Join(append([]string{server.Command}, server.Args...), "\n")
	}
	return row.trimmed()
}

// trimmed has the texts as they come back from a form.
func (t toolForm) trimmed() toolForm {
	for _, text := range []*string{&t.Was, &t.Name, &t.URL, &t.Headers, &t.Command, &t.Env, &t.WarpID} {
		*text = strings.TrimSpace(page.FormText(*text))
	}
	return t
}

func valueLines(values map[string]string, between string) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		lines = append(lines, key+between+values[key])
	}
	return strings.Join(lines, "\n")
}

func (f *toolForms) number() {
	for i := range f.Rows {
		f.Rows[i].Number, f.Rows[i].ID = i+1, fmt.Sprintf("tool-%d", i+1)
	}
}

// read takes what was typed. Pages of an earlier version have no tool servers: their forms leave them as they are.
func (f *toolForms) read(r *page.Request) {
	if !r.PostForm.Has("tools") {
		return
	}
	f.Rows = nil
	for i := range r.PostForm["tool_name"] {
		value := func(name string) string {
			if values := r.PostForm["tool_"+name]; i < len(values) {
				return values[i]
			}
			return ""
		}
		f.Rows = append(f.Rows, toolForm{
			Was: value("was"), Name: value("name"), URL: value("url"), Headers: value("headers"),
			Command: value("command"), Env: value("env"), WarpID: value("warp"),
		}.trimmed())
	}
	f.number()
}

// None says that a definition says that there are none, which is more than to say nothing.
func (f *toolForms) None() bool { return f.stored != nil && len(f.stored) == 0 }

// change adds or removes a row if that is what a button asks for: moretool or lesstool:N.
func (f *toolForms) change(do string) bool {
	verb, what, _ := strings.Cut(do, ":")
	switch at, err := strconv.Atoi(what); {
	case verb == "moretool":
		f.Rows = append(f.Rows, toolForm{Fresh: true})
	case verb != "lesstool":
		return false
	case err == nil && at > 0 && at <= len(f.Rows):
		f.Rows, f.Shrunk = slices.Delete(f.Rows, at-1, at), true
	}
	f.number()
	return true
}

// servers are the tool servers that the form says.
func (f *toolForms) servers() (map[string]lineshaft.MCPServer, error) {
	servers := map[string]lineshaft.MCPServer{}
	for _, row := range f.Rows {
		if row.Name+row.URL+row.Headers+row.Command+row.Env+row.WarpID == "" {
			continue
		}
		if _, twice := servers[row.Name]; twice || row.Name == "" {
			return nil, lineshaft.Invalid(fmt.Sprintf("config.mcp_servers[%d].name", row.Number-1), "each server in a list needs its own name")
		}
		server, err := row.server(f.stored)
		if err != nil {
			return nil, err
		}
		servers[row.Name] = server
	}
	return servers, nil
}

// server is the tool server of a row. One that nobody touched stays as it is stored, and
// hidden values stay with a server that is reached as before: they go nowhere else.
func (t toolForm) server(stored map[string]lineshaft.MCPServer) (lineshaft.MCPServer, error) {
	was, had := stored[t.Was]
	shown := showTool(t.Was, was)
	if had && t.same(shown) {
		return was, nil
	}
	field, server := "config.mcp_servers."+lineshaft.Clip(t.Name, 80), lineshaft.MCPServer{URL: t.URL, WarpID: t.WarpID}
	if words := page.NonEmptyLines(t.Command); len(words) > 0 {
		server.Command, server.Args = words[0], words[1:]
	}
	kept := lineshaft.MCPServer{}
	if had && t.URL == shown.URL && t.Command == shown.Command {
		kept, server.URL, server.Command, server.Args = was, was.URL, was.Command, was.Args
	}
	var err error
	if server.Headers, err = readValues(field+".headers", t.Headers, ":", kept.Headers); err != nil {
		return server, err
	}
	server.Env, err = readValues(field+".env", t.Env, "=", kept.Env)
	return server, err
}

// same says that two rows have the same texts.
func (t toolForm) same(other toolForm) bool {
	return t.Name == other.Name && t.URL == other.URL && t.Headers == other.Headers && t.Command == other.Command && t.Env == other.Env &&
		t.WarpID == other.WarpID
}

// readValues reads lines of names and values; kept are the values that are shown as hidden.
func readValues(field, text, between string, kept map[string]string) (map[string]string, error) {
	var values map[string]string
	for _, line := range page.NonEmptyLines(text) {
		key, value, ok := strings.Cut(line, between)
		if key, value = strings.TrimSpace(key), strings.TrimSpace(value); !ok || key == "" {
			return nil, lineshaft.Invalid(field, "write a name, %q and a value on each line", between)
		}
		if _, twice := values[key]; twice {
			return nil, lineshaft.Invalid(field+"."+lineshaft.Clip(key, 80), "is named twice")
		}
		if before, had := kept[key]; had && value == lineshaft.ShownValue(before) {
			value = before
		}
		if value == lineshaft.HiddenValue {
			return nil, lineshaft.Invalid(field+"."+lineshaft.Clip(key, 80),
				"%s stands for a value that is not shown; write the value again, or {{SECRET_NAME}}", lineshaft.HiddenValue)
		}
		if values == nil {
			values = map[string]string{}
		}
		values[key] = value
	}
	return values, nil
}

// blame says at a row what is wrong with it.
func (f *toolForms) blame(err error) {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		named := "config.mcp_servers." + lineshaft.Clip(row.Name, 80)
		if told.Field == named || strings.HasPrefix(told.Field, named+".") || told.Field == fmt.Sprintf("config.mcp_servers[%d].name", i) {
			row.Wrong = told.Message
			return
		}
	}
}
