package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// methodTable is methods.yaml: the services of the client with their methods, and what of them
// the document does not say.
type methodTable struct {
	// Nouns are what errors call the ids whose parameter does not say it.
	Nouns    map[string]string     `yaml:"nouns"`
	Services map[string]serviceRow `yaml:"services"`
}

// serviceRow is a service; that of no name has the methods of the client itself.
type serviceRow struct {
	Doc string `yaml:"doc"`
	// Own is the parameter that callers know as the thing itself, and by what name.
	Own     map[string]string    `yaml:"own"`
	Methods map[string]methodRow `yaml:"methods"`
}

// methodRow is a method.
type methodRow struct {
	Op  string `yaml:"op"`
	Doc string `yaml:"doc"`
	// Again says that a POST may be repeated when its answer is lost, and Keyed that it has a key
	// by which the server knows it again.
	Again bool `yaml:"again"`
	Keyed bool `yaml:"keyed"`
	// Body is the name of the argument that is sent; req when empty.
	Body string `yaml:"body"`
	// Args are the properties of the query that are arguments, with their names; Set has fixed ones.
	Args [][2]string `yaml:"args"`
	Set  [][2]string `yaml:"set"`
	// Query is the type that selects a page, and More its fields beside limit and cursor.
	Query string      `yaml:"query"`
	More  [][2]string `yaml:"more"`
	// Member is what is returned of the answer, under one of these names; with All, of all pages.
	Member []string `yaml:"member"`
	All    bool     `yaml:"all"`
	// Pages is the method whose pages it goes through; Member is what they hold.
	Pages string `yaml:"pages"`
	// Answer is the type of the answer, where it is written by hand.
	Answer string `yaml:"answer"`
	// Nothing says that the answer is not looked at.
	Nothing bool `yaml:"nothing"`
}

// operation is what the methods need of an operation of the document.
type operation struct {
	ID         string `yaml:"operationId"`
	Parameters []struct {
		Name   string `yaml:"name"`
		In     string `yaml:"in"`
		Schema schema `yaml:"schema"`
	} `yaml:"parameters"`
	Request   content            `yaml:"requestBody"`
	Responses map[string]content `yaml:"responses"`

	method, path string
}

type content struct {
	Content map[string]struct {
		Schema schema `yaml:"schema"`
	} `yaml:"content"`
}

// answer is the schema of what comes when all is well; file says that it is one to download.
func (o operation) answer() (of schema, file bool) {
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		switch status[0] {
		case '2':
			return o.Responses[status].Content["application/json"].Schema, false
		case '3':
			return schema{}, true
		}
	}
	return schema{}, false
}

func readMethods(path string) (methodTable, error) {
	var t methodTable
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.UnmarshalWithOptions(text, &t, yaml.Strict())
	}
	return t, err
}

func (w *writer) writeService(name string, t methodTable) {
	of := t.Services[name]
	receiver, client := "c *Client", "c"
	if name != "" {
		receiver, client = "s *"+name+"Service", "s.c"
		w.printf("\n%stype %sService struct{ c *Client }\n", comment("", name+"Service "+of.Doc), name)
	}
	for _, method := range slices.Sorted(maps.Keys(of.Methods)) {
		w.writeMethod(methodWriter{writer: w, name: method, receiver: receiver, client: client, service: of, nouns: t.Nouns}, of.Methods[method])
	}
}

// methodWriter writes one method.
type methodWriter struct {
	*writer
	name, receiver, client string
	service                serviceRow
	nouns                  map[string]string
}

func (w *writer) writeMethod(m methodWriter, row methodRow) {
	op, known := w.operations[row.Op]
	if !known {
		w.faultf("%s: there is no operation %s", m.name, row.Op)
		return
	}
	place, args := m.place(op)
	if row.Pages != "" {
		m.writePages(row, op, args)
		return
	}
	query := "nil"
	switch {
	case row.Query != "":
		args = append(args, "q "+row.Query)
		query = "pageQuery(q.Limit, q.Cursor" + pairs(row.More, "q.") + ")"
	case len(row.Args)+len(row.Set) > 0 || row.All:
		for _, arg := range row.Args {
			args = append(args, arg[1]+" string")
		}
		query = "query(" + strings.TrimPrefix(pairs(row.Args, "")+pairs(row.Set, `"`), ", ") + ")"
	}
	call := fmt.Sprintf("call{method: http.Method%s, place: %s", op.method, place)
	if query != "nil" {
		call += ", query: " + query
	}
	if body := op.Request.Content["application/json"].Schema; body.Ref != "" {
		name := cmp.Or(row.Body, "req")
		args = append(args, name+" "+w.refType(refName(body)))
		call += ", body: " + name
	}
	if row.Keyed {
		call += ", keyed: true"
	}
	if row.Again || op.method == "Put" || op.method == "Patch" {
		call += ", replay: true"
	}
	call += "}"
	result, body := m.result(row, op, place, query, call)
	w.printf("\n%sfunc (%s) %s(%s) %s {\n\treturn %s\n}\n", comment("", m.name+" "+row.Doc), m.receiver, m.name, arguments(args), result, body)
}

// result is what a method returns, and the call that brings it.
func (m methodWriter) result(row methodRow, op operation, place, query, call string) (kind, body string) {
	of, file := op.answer()
	answer := refName(of)
	switch {
	case file:
		return "(io.ReadCloser, error)", fmt.Sprintf("%s.open(ctx, %s)", m.client, place)
	case op.method == "Delete":
		return "error", fmt.Sprintf("%s.remove(ctx, %s)", m.client, place)
	case row.Nothing:
		return "error", fmt.Sprintf("%s.do(ctx, %s)", m.client, call)
	case row.All:
		item := m.item(answer, row)
		return "([]" + item + ", error)", fmt.Sprintf("readAll[%s](ctx, %s, %s, %s%s)", item, m.client, place, query, quoted(row.Member))
	case len(row.Member) > 0:
		member := m.goType(m.doc[answer].Properties[row.Member[0]])
		return "(" + member + ", error)", fmt.Sprintf("member[%s](ctx, %s, %s, %s%s)", member, m.client, place, query, quoted(row.Member))
	}
	kind = row.Answer
	if kind == "" {
		kind = m.refType(answer)
	}
	if op.method == "Get" {
		return "(*" + kind + ", error)", fmt.Sprintf("get[%s](ctx, %s, %s, %s)", kind, m.client, place, query)
	}
	return "(*" + kind + ", error)", fmt.Sprintf("receive[%s](ctx, %s, %s)", kind, m.client, call)
}

// item is the type of what a list of an answer holds.
func (m methodWriter) item(answer string, row methodRow) string {
	list := m.doc[answer].Properties[row.Member[0]]
	if list.Items == nil {
		m.faultf("%s: %s has no list %s", m.name, answer, row.Member[0])
		return "any"
	}
	return m.goType(*list.Items)
}

// writePages writes a method that goes through the pages that another reads.
func (m methodWriter) writePages(row methodRow, op operation, args []string) {
	of, _ := op.answer()
	page, member := m.refType(refName(of)), row.Member[0]
	item := m.item(refName(of), row)
	names := "ctx"
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, " ")
		names += ", " + name
	}
	receiver, _, _ := strings.Cut(m.receiver, " ")
	m.printf("\n%sfunc (%s) %s(%s) iter.Seq2[%s, error] {\n", comment("", m.name+" "+row.Doc), m.receiver, m.name,
		arguments(append(args, "q "+row.Query)), item)
	m.printf("\treturn pages(&q.Cursor, func() (*%s, error) { return %s.%s(%s, q) },\n", page, receiver, row.Pages, names)
	m.printf("\t\tfunc(p *%s) ([]%s, PageInfo) { return p.%s, p.PageInfo })\n}\n", page, item, goName(member))
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// place is the expression of a path, and the arguments that fill it.
func (m methodWriter) place(op operation) (expression string, args []string) {
	var ids string
	path := parameter.ReplaceAllStringFunc(op.path, func(in string) string {
		name := strings.Trim(in, "{}")
		arg := cmp.Or(m.service.Own[name], strings.NewReplacer("Uid", "UID", "Id", "ID").Replace(name))
		id := arg
		args = append(args, arg+" string")
		for _, p := range op.Parameters {
			if p.Name == name && p.Schema.kind() == "integer" {
				args[len(args)-1], id = arg+" int64", "strconv.FormatInt("+arg+", 10)"
			}
		}
		ids += ", " + id
		return "{" + cmp.Or(m.nouns[name], strings.TrimSuffix(strings.TrimSuffix(name, "Uid"), "Id")) + "}"
	})
	return fmt.Sprintf("at(%q%s)", path, ids), args
}

// arguments writes those of a method; neighbours of one type share it.
func arguments(args []string) string {
	list := []string{"ctx context.Context"}
	for i, arg := range args {
		name, kind, _ := strings.Cut(arg, " ")
		if i+1 < len(args) && strings.HasSuffix(args[i+1], " "+kind) {
			arg = name
		}
		list = append(list, arg)
	}
	return strings.Join(list, ", ")
}

// pairs writes names and values as further arguments. Values are quoted, or stand behind a prefix.
func pairs(list [][2]string, prefix string) (text string) {
	for _, pair := range list {
		value := prefix + pair[1]
		if prefix == `"` {
			value += `"`
		}
		text += fmt.Sprintf(", %q, %s", pair[0], value)
	}
	return text
}

func quoted(words []string) (text string) {
	for _, word := range words {
		text += fmt.Sprintf(", %q", word)
	}
	return text
}
