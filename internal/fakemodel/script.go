package fakemodel

import (
	"encoding/json"
	"regexp"
	"strings"
)

// What the usual script says and does.
const (
	DefaultCommand = "echo hello-from-tool >out.txt; cat out.txt; pwd"
	FinalText      = "All done. The tool ran."
	slowCommand    = "sleep 300"
	longText       = 100_000
)

// Reply is the answer to a request: calls of tools, or a text.
type Reply struct {
	Thought string
	Text    string
	Calls   []Call
}

// Script decides what is answered.
type Script func(Conversation) Reply

var stepWord = regexp.MustCompile(`\b(?:(RUN|MCP|TOOL|THINK|SAY):[ \t]*([^\n]*)|(SLOW|PLAN|LOOP|LONG)\b)`)

type step struct{ word, rest string }

// steps are those of a text: what calls tools, what is thought, how it ends.
func steps(text string) (calls []step, thought, final string) {
	final = FinalText
	for _, m := range stepWord.FindAllStringSubmatch(text, -1) {
		switch s := (step{word: m[1] + m[3], rest: strings.TrimSpace(m[2])}); s.word {
		case "THINK":
			thought = s.rest
		case "SAY":
			final = s.rest
		case "LONG":
			final = strings.Repeat("lorem ipsum ", longText/12+1)[:longText]
		default:
			calls = append(calls, s)
		}
	}
	if len(calls) == 0 && final == FinalText {
		calls = []step{{"RUN", DefaultCommand}}
	}
	return calls, thought, final
}

// Usual is the script of the package's description.
func Usual(c Conversation) Reply {
	text, done := c.Asked()
	calls, thought, final := steps(text)
	if c.Schema != nil {
		raw, _ := json.Marshal(sample(c.Schema, object{}))
		return Reply{Text: string(raw)}
	}
	if last := len(calls) - 1; last >= 0 && calls[last].word == "LOOP" {
		done = min(done, last)
	}
	if done >= len(calls) || len(c.Tools) == 0 {
		return Reply{Thought: thought, Text: final}
	}
	call, ok := c.call(calls[done])
	if !ok {
		return Reply{Thought: thought, Text: "There is no tool for " + calls[done].word + " " + calls[done].rest}
	}
	return Reply{Thought: thought, Calls: []Call{call}}
}

// call finds the tool for a step.
func (c Conversation) call(s step) (Call, bool) {
	switch s.word {
	case "RUN":
		return c.shell(s.rest)
	case "LOOP":
		return c.shell("echo again")
	case "SLOW":
		return c.shell(slowCommand)
	case "PLAN":
		return c.plan()
	}
	name, rest, _ := strings.Cut(s.rest, " ")
	for _, tool := range c.Tools {
		switch {
		case s.word == "MCP" && endsWith(tool.Name, name):
			return tool.call(sample(tool.Schema, object{"text": rest})), true
		case s.word == "TOOL" && tool.Name == name:
			arguments := object{}
			_ = json.Unmarshal([]byte(rest), &arguments) // nothing to say it to: the tool refuses empty arguments
			return tool.call(arguments), true
		}
	}
	return Call{}, false
}

// endsWith says that a tool is the one of a server, which agents put before its name.
func endsWith(tool, name string) bool {
	before, ok := strings.CutSuffix(tool, name)
	return ok && name != "" && (before == "" || strings.ContainsAny(before[len(before)-1:], "_-./:"))
}
