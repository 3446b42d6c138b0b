package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
)

// A vendor can be asked to fetch addresses, to search and to call MCP servers: a way
// out for an agent that has none of its own, or only to some hosts. What asks for it
// is refused there.

const (
	// maxTools and maxKeys bound what is looked at: nobody has as many.
	maxTools = 2000
	maxKeys  = 10_000
)

func errFetch(what string) *fault {
	return &fault{http.StatusBadRequest, string(lineshaft.CodeNotSupported), fmt.Sprintf(
		"%s would let the model's vendor reach other hosts, which the egress setting of this worker does not allow; leave it out, and send pictures and files themselves", what)}
}

var (
	errTwice    = errors.New("a field is there twice")
	errManyKeys = errors.New("an object has too many fields")
)

// within keeps a request from making the vendor reach out.
func (c *call) within(fields map[string]json.RawMessage) *fault {
	for name, raw := range fields {
		switch plain(name) {
		case "mcpservers":
			if value := strings.TrimSpace(string(raw)); value != "[]" && value != "null" {
				return errFetch(name)
			}
		case "prompt": // one that is stored at the vendor may have any tools
			if c.kind == kindResponses {
				return errFetch(name)
			}
		case "websearchoptions", "plugins", "searchparameters":
			return errFetch(name)
		case "tools":
			kept, bad := c.tools(raw)
			if bad != nil {
				return bad
			}
			if fields[name] = kept; kept == nil {
				delete(fields, name)
				delete(fields, "tool_choice")
			}
		default:
			if bad := look(raw, true); bad != nil {
				return bad
			}
		}
	}
	return nil
}

// plain is a name as any server may read it: not all of them look at the case, and
// some take both ways of writing two words.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// tools leaves those that the agent itself carries out; nil is none.
func (c *call) tools(raw json.RawMessage) (json.RawMessage, *fault) {
	if bad := look(raw, false); bad != nil {
		return nil, bad
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	if begin, _ := in.Token(); begin != json.Delim('[') {
		return nil, nil // not a list of tools
	}
	var kept []json.RawMessage
	for in.More() {
		var fields map[string]json.RawMessage
		if err := in.Decode(&fields); err != nil || len(kept) > maxTools {
			return nil, &fault{http.StatusBadRequest, string(lineshaft.CodeInvalidRequest), "tools: write a list of at most 2000 objects"}
		}
		if keep, bad := c.keeps(fields); bad != nil {
			return nil, bad
		} else if !keep {
			continue
		}
		one, err := json.Marshal(fields)
		if err != nil {
			return nil, errNotObject()
		}
		kept = append(kept, one)
	}
	if len(kept) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(kept)
	if err != nil {
		return nil, errNotObject()
	}
	return list, nil
}

// keeps says whether a tool is the agent's own. Codex names OpenAI's search in every
// request, so that it is left out; other programs ask for such tools only to use them.
func (c *call) keeps(tool map[string]json.RawMessage) (bool, *fault) {
	kind := ""
	for name, raw := range tool {
		switch field := plain(name); {
		case c.protocol == model.Gemini:
			if !slices.Contains([]string{"functiondeclarations", "codeexecution"}, field) {
				return false, errFetch("the tool " + name)
			}
		case field == "type":
			if json.Unmarshal(raw, &kind) != nil || name != "type" {
				return false, errFetch("a tool of unknown type")
			}
		}
	}
	switch c.protocol {
	case model.Anthropic:
		own := kind == "" || kind == "custom" || slices.ContainsFunc([]string{"bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"}, func(p string) bool { return strings.HasPrefix(kind, p) })
		if !own {
			return false, errFetch("the tool " + kind)
		}
	case model.OpenAI:
		return c.keepsOpenAI(kind, tool)
	case model.Gemini:
	}
	return true, nil
}

func (c *call) keepsOpenAI(kind string, tool map[string]json.RawMessage) (bool, *fault) {
	switch kind {
	case "", "function", "custom", "local_shell", "apply_patch", "tool_search", "image_generation", "computer", "computer_use_preview":
		return true, nil
	case "namespace": // of tools
		for name, raw := range tool {
			if plain(name) != "tools" {
				continue
			}
			kept, bad := c.tools(raw)
			if bad != nil {
				return false, bad
			}
			if tool[name] = kept; kept == nil {
				return false, nil
			}
		}
		return true, nil
	}
	if strings.HasPrefix(kind, "web_search") {
		return false, nil
	}
	return false, errFetch("the tool " + kind)
}

// look goes through a value for addresses that a vendor would fetch, and for names
// that are there twice, of which another reader may take the other.
func look(raw json.RawMessage, addresses bool) *fault {
	l := looker{json.NewDecoder(bytes.NewReader(raw))}
	found, _, err := l.value("", "")
	switch {
	case err != nil:
		return &fault{http.StatusBadRequest, string(lineshaft.CodeInvalidRequest), "the body cannot be passed on: " + err.Error()}
	case found && addresses:
		return errFetch("the address of a picture or file")
	}
	return nil
}

type looker struct{ in *json.Decoder }

// value looks at what comes next, under a key within the object under another, and
// gives its text if it is one.
func (l looker) value(parent, key string) (found bool, text string, err error) {
	token, err := l.in.Token()
	if err != nil {
		return false, "", err
	}
	switch t := token.(type) {
	case string:
		address := key == "imageurl" || key == "fileurl" || key == "fileuri" || key == "url" && parent == "imageurl"
		return address && foreign(t), t, nil
	case json.Delim:
		if t == '{' {
			found, err = l.object(key)
			return found, "", err
		}
		for l.in.More() {
			in, _, err := l.value(parent, key)
			if err != nil {
				return false, "", err
			}
			found = found || in
		}
		_, err = l.in.Token()
	}
	return found, "", err
}

func foreign(address string) bool {
	return address != "" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(address)), "data:")
}

// object looks at one whose beginning has been read. What an agent's tools were given
// is only quoted to the model, whatever it looks like.
func (l looker) object(key string) (found bool, err error) {
	var (
		seen   = map[string]bool{}
		input  bool // found in the input of what may be a tool's use
		use    bool
		kind   bool // says that it is a URL
		url    bool // has one
		quoted = key == "functioncall" || key == "functionresponse"
	)
	for l.in.More() {
		token, err := l.in.Token()
		if err != nil {
			return false, err
		}
		name, _ := token.(string) // within an object it is one
		if seen[name] {
			return false, errTwice
		}
		if seen[name] = true; len(seen) > maxKeys {
			return false, errManyKeys
		}
		child := plain(name)
		in, text, err := l.value(key, child)
		if err != nil {
			return false, err
		}
		kind = kind || child == "type" && text == "url"
		url = url || child == "url" && foreign(text)
		use = use || name == "type" && (text == "tool_use" || text == "server_tool_use")
		switch {
		case child == "input":
			input = input || in
		case !quoted || child != "args" && child != "response":
			found = found || in
		}
	}
	_, err = l.in.Token()
	return found || input && !use || kind && url, err
}
