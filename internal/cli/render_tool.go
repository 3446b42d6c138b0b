package cli

import (
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft/client"
)

// What people see of a result: the beginning and the end. `runs logs -o json` has all.
const (
	maxResultBytes = 16 << 10
	maxFailedBytes = 2 << 10
)

// wrote notes what a tool put out while it ran, so that its result does not say it again.
func (r *renderer) wrote(d client.OutputData) {
	if d.ToolCallID == "" {
		return
	}
	if r.written == nil {
		r.written = map[string]string{}
	}
	if have := r.written[d.ToolCallID]; len(have) <= maxResultBytes { // beyond that nothing is repeated anyway
		r.written[d.ToolCallID] = have + d.Text
	}
}

// toolResult shows how a tool ended if it was not good, and what it put out where no
// output came before: most agents tell what their commands wrote with the result alone.
func (r *renderer) toolResult(d client.ToolResultData) {
	before, told := r.written[d.ID]
	delete(r.written, d.ID)
	text, _ := d.Output["text"].(string)
	reason, _ := d.Output["error"].(string)
	failed := d.State != "completed"
	if text == "" && failed && !told && d.Category != "command" {
		text = reason
	}
	rest, goesOn := strings.CutPrefix(text, before)
	most := maxResultBytes
	if d.Category != "command" {
		most = maxFailedBytes
	}
	if goesOn && strings.TrimSpace(rest) != "" && (d.Category == "command" || failed) {
		if rest = shorten(rest, most); !strings.HasSuffix(rest, "\n") {
			rest += "\n"
		}
		r.output(client.OutputData{Stream: "stdout", Text: rest})
	}
	if failed {
		r.line(r.sh.out, styleBad, fmt.Sprintf("! %s %s", d.Name, d.State))
	}
}

// shorten keeps the beginning and the end of a long text.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	left := len(text) - most
	return strings.ToValidUTF8(text[:most/2], "") + fmt.Sprintf("\n… %d bytes left out …\n", left) + strings.ToValidUTF8(text[len(text)-most/2:], "")
}

// toolLine is a call in a line, or lines, as people would write it.
func toolLine(d client.ToolCallData) string {
	for _, key := range []string{"command", "path", "query", "url"} {
		if text := inputText(d.Input[key]); text != "" {
			if d.Category == "command" {
				return text
			}
			return d.Name + " " + text
		}
	}
	return d.Name
}

// inputText is a text, or a command that an agent gives as a list of words. What a
// shell would be given as its script is shown alone.
func inputText(value any) string {
	list, ok := value.([]any)
	if !ok {
		text, _ := value.(string)
		return text
	}
	var words []string
	for _, item := range list {
		word, ok := item.(string)
		if !ok {
			return ""
		}
		words = append(words, word)
	}
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	for i, word := range words {
		if word == "" || strings.ContainsAny(word, " \t\n'\"\\$`|&;<>()*?#~") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}
