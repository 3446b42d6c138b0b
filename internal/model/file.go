package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// Entry is an endpoint as a file describes it: the key itself is elsewhere.
type Entry struct {
	Endpoint
	// KeyEnv is the environment variable, KeyFile the file, that holds the key; at
	// most one of them is set.
	KeyEnv, KeyFile string
	// Line is where the entry begins.
	Line int
}

// ParseFile reads a file of endpoints. The error tells all problems at once, each
// with the place to fix it; it quotes no value that may be a key.
func ParseFile(name string, data []byte) ([]Entry, error) {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n") // what follows is an excerpt of the file
		return nil, fmt.Errorf("%s: %s", name, line)
	}
	r := &reader{name: name}
	var entries []Entry
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		r.fields(doc.Body, "", map[string]func(ast.Node){
			"endpoints": func(n ast.Node) {
				r.items(n, "endpoints", func(item ast.Node) { entries = append(entries, r.endpoint(item)) })
			},
		})
	}
	seen := map[string]bool{}
	for _, e := range entries {
		if e.Name != "" && seen[e.Name] {
			r.problemf(e.Line, "the name %q appears twice; give each endpoint its own", e.Name)
		}
		seen[e.Name] = true
	}
	return entries, errors.Join(r.errs...)
}

// reader gathers problems.
type reader struct {
	name string
	errs []error
}

func (r *reader) problemf(line int, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s", r.name, line, fmt.Sprintf(format, args...)))
}

func lineOf(n ast.Node) int {
	if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	return n.GetToken().Position.Line
}

// fields calls the function of each key of a mapping.
func (r *reader) fields(n ast.Node, what string, known map[string]func(ast.Node)) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		r.problemf(lineOf(n), "%swrite `key: value` lines here", prefix(what))
		return
	}
	for _, entry := range m.Values {
		key := entry.Key.GetToken().Value
		set, ok := known[key]
		if !ok {
			r.problemf(entry.Key.GetToken().Position.Line, "%s%s", prefix(what), unknownKey(key, known))
			continue
		}
		set(entry.Value)
	}
}

func prefix(what string) string {
	if what == "" {
		return ""
	}
	return what + ": "
}

func unknownKey(key string, known map[string]func(ast.Node)) string {
	keys := slices.Sorted(maps.Keys(known))
	if strings.Contains(key, "key") || strings.Contains(key, "token") {
		if slices.Contains(keys, "key_env") {
			return fmt.Sprintf("unknown key %q; keys do not belong in this file: name the variable with key_env or the file with key_file", key)
		}
	}
	if near := nearest.Word(key, keys); near != "" {
		return fmt.Sprintf("unknown key %q; did you mean %s?", key, near)
	}
	return fmt.Sprintf("unknown key %q; known are %s", key, strings.Join(keys, ", "))
}

func (r *reader) items(n ast.Node, what string, each func(ast.Node)) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
		r.problemf(lineOf(n), "%s: write a list, each entry beginning with -", what)
		return
	}
	for _, item := range list.Values {
		each(item)
	}
}

func (r *reader) text(to *string, what string) func(ast.Node) {
	return func(n ast.Node) {
		switch n.(type) {
		case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
			*to = n.GetToken().Value
		default:
			r.problemf(lineOf(n), "%s: write a plain text", what)
		}
	}
}

// price reads dollars per million tokens.
func (r *reader) price(to *int64, set *bool, what string) func(ast.Node) {
	return func(n ast.Node) {
		value, err := strconv.ParseFloat(n.GetToken().Value, 64)
		if err != nil || math.IsNaN(value) || value < 0 || value > MaxPrice/million {
			r.problemf(lineOf(n), "%s: write US dollars per million tokens, from 0 to %d, such as 2.5", what, MaxPrice/million)
			return
		}
		*to, *set = int64(math.Round(value*million)), true
	}
}

func (r *reader) endpoint(n ast.Node) Entry {
	e := Entry{Line: lineOf(n)}
	e.Prices = map[string]Price{}
	var protocol string
	r.fields(n, "endpoint", map[string]func(ast.Node){
		"name": r.text(&e.Name, "name"), "protocol": r.text(&protocol, "protocol"), "url": r.text(&e.URL, "url"),
		"key_env": r.text(&e.KeyEnv, "key_env"), "key_file": r.text(&e.KeyFile, "key_file"),
		"models": func(n ast.Node) { r.items(n, "models", func(item ast.Node) { r.model(&e, item) }) },
	})
	e.Protocol = Protocol(protocol)
	if !slices.Contains(Protocols(), e.Protocol) {
		r.problemf(e.Line, "protocol: %q is not one of anthropic, openai, gemini%s", protocol, didYouMean(protocol))
	}
	e.Name = cmp.Or(e.Name, protocol)
	if e.URL == "" {
		e.URL = e.Protocol.PublicURL()
	} else if problem := CheckURL(e.URL); problem != "" {
		r.problemf(e.Line, "url: %s", problem)
	}
	e.URL = strings.TrimRight(e.URL, "/")
	if e.KeyEnv != "" && e.KeyFile != "" {
		r.problemf(e.Line, "key_env and key_file: the key can come from one place only; keep one of them")
	}
	return e
}

func didYouMean(word string) string {
	if near := nearest.Word(word, []string{string(Anthropic), string(OpenAI), string(Gemini)}); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func (r *reader) model(e *Entry, n ast.Node) {
	if s, ok := n.(*ast.StringNode); ok { // a name alone is a model without a price
		e.Models = append(e.Models, s.Value)
		return
	}
	var (
		id                    string
		price                 Price
		input, output, cached bool
		written               bool
	)
	r.fields(n, "model", map[string]func(ast.Node){
		"id":                        r.text(&id, "id"),
		"input_usd_per_mtok":        r.price(&price.Input, &input, "input_usd_per_mtok"),
		"output_usd_per_mtok":       r.price(&price.Output, &output, "output_usd_per_mtok"),
		"cached_input_usd_per_mtok": r.price(&price.CachedInput, &cached, "cached_input_usd_per_mtok"),
		"cache_write_usd_per_mtok":  r.price(&price.CacheWrite, &written, "cache_write_usd_per_mtok"),
	})
	switch {
	case id == "":
		r.problemf(lineOf(n), "a model needs its id")
		return
	case slices.Contains(e.Models, id):
		r.problemf(lineOf(n), "the model %q appears twice", id)
	case input != output || (cached || written) && !input:
		r.problemf(lineOf(n), "the model %q: a price needs both input_usd_per_mtok and output_usd_per_mtok", id)
	}
	e.Models = append(e.Models, id)
	if input && output {
		e.Prices[id] = price
	}
}

// CheckURL says what is wrong with the address of an endpoint, or nothing.
func CheckURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "write a whole URL, such as https://api.example.com"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "leave out user, ? and #: requests are made by adding a path"
	}
	return ""
}
