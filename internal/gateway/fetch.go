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
// out for an agent that has none of its own, or only to some hosts. From such an agent
// these requests are refused.

const (
	// maxTools and maxKeys bound what is read: nobody has as many.
	maxTools = 2000
	maxKeys  = 10_000
)

func errFetch(what string) *fault {
	return &fault{http.StatusBadRequest, string(lineshaft.CodeNotSupported), fmt.Sprintf(
		"%s would let the model's vendor reach other hosts, which the egress setting of this worker does not allow; leave it out, and send pictures and files themselves", what)}
}

var (
	errTwice    = errors.New("a field appears twice")
	errManyKeys = errors.New("an object has too many fields")
)

// within keeps a request from making the vendor reach out. Unknown parts are left
// out, and those that surely ask for it are refused.
func (c *call) within(fields map[string]json.RawMessage) *fault {
	for name, raw := range fields {
		field := plain(name)
		switch field {
		case "mcpservers":
			if value := strings.TrimSpace(string(raw)); value != "[]" && value != "null" {
				return errFetch(name)
			}
			continue
		case "websearchoptions", "plugins", "searchparameters":
			return errFetch(name)
		case "prompt": // one that is stored at the vendor may have any tools
			if c.kind == kindResponses {
				return errFetch(name)
			}
		}
		if !passesField(c, field) {
			delete(fields, name)
			c.left = append(c.left, name)
			continue
		}
		if bad := c.field(fields, name, raw); bad != nil {
			return bad
		}
	}
	return nil
}

// field checks a field that may be passed on.
func (c *call) field(fields map[string]json.RawMessage, name string, raw json.RawMessage) *fault {
	switch plain(name) {
	case "metadata", "clientmetadata", "labels", "user": // for the vendor's records
		return c.look(name, raw, false)
	case "tools":
		kept, bad := c.tools(raw)
		if bad != nil {
			return bad
		}
		if fields[name] = kept; kept == nil {
			delete(fields, name)
			delete(fields, "tool_choice")
		}
		return nil
	case "generatecontentrequest": // a request within a request
		inner, bad := readFields(raw)
		if bad != nil {
			return bad
		}
		if bad := c.within(inner); bad != nil {
			return bad
		}
		again, err := json.Marshal(inner)
		if err != nil { // it was read as JSON a moment ago
			return errNotObject()
		}
		fields[name] = again
		return nil
	}
	if bad := c.schemas(name, raw); bad != nil {
		return bad
	}
	return c.look(name, raw, true)
}

// tools keeps the tools that the agent itself carries out; nil is none.
func (c *call) tools(raw json.RawMessage) (json.RawMessage, *fault) {
	if bad := c.look("tools", raw, false); bad != nil {
		return nil, bad
	}
	if bad := c.schemas("tools", raw); bad != nil {
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
	switch {
	case c.protocol == model.Gemini:
		return true, nil
	case c.protocol == model.OpenAI && strings.HasPrefix(kind, "web_search"):
		c.left = append(c.left, "the tool "+kind)
		return false, nil
	case !ownTool(c.protocol, kind):
		return false, errFetch("the tool " + kind)
	case kind == "namespace":
		return c.keepsOf(tool)
	case kind != "" && kind != "function" && kind != "custom": // those have schemas, which may look like anything
		for _, raw := range tool {
			if bad := c.look("tools", raw, true); bad != nil {
				return false, bad
			}
		}
	}
	return true, nil
}

// keepsOf keeps the tools of a namespace that are the agent's own.
func (c *call) keepsOf(tool map[string]json.RawMessage) (bool, *fault) {
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

// look goes through a value for addresses that a vendor would fetch, for tools of its
// own, and for names that occur twice, of which another reader may take the other.
func (c *call) look(name string, raw json.RawMessage, addresses bool) *fault {
	l := looker{json.NewDecoder(bytes.NewReader(raw)), c.protocol}
	found, _, err := l.value("", "")
	switch {
	case err != nil:
		return &fault{http.StatusBadRequest, string(lineshaft.CodeInvalidRequest), "the body cannot be passed on: " + err.Error()}
	case found && addresses:
		return errFetch(name + ": the address of a picture or file, or a tool of the vendor,")
	}
	return nil
}

type looker struct {
	in       *json.Decoder
	protocol model.Protocol
}

// inTools is the key of what is in a list of tools.
const inTools = "tools[]"

// value looks at what comes next, under a key within the object under another, and
// gives its text if it is one.
func (l looker) value(parent, key string) (found bool, text string, err error) {
	token, err := l.in.Token()
	if err != nil {
		return false, "", err
	}
	switch t := token.(type) {
	case string:
		return fetched(parent, key) && foreign(t) || holdsContent(key) && strings.Contains(t, "://"), t, nil
	case json.Delim:
		if t == '{' {
			found, err = l.object(key)
			return found, "", err
		}
		if key == "tools" {
			key = inTools
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

// fetched says whether servers fetch what a key holds: image_url, fileUri and their
// like, and the url within them.
func fetched(parent, key string) bool {
	if key == "url" {
		return parent != "url" && strings.HasSuffix(parent, "url")
	}
	return strings.HasSuffix(key, "url") || strings.HasSuffix(key, "uri")
}

// holdsContent says whether a key is for a file itself or for one that the vendor has;
// some servers take an address there as well.
func holdsContent(key string) bool { return key == "filedata" || key == "fileid" || key == "data" }

// isMedia says whether an object of this type is what servers fetch when it has a url.
func isMedia(kind string) bool {
	switch strings.TrimPrefix(kind, "input_") {
	case "url", "image", "file", "document", "audio", "video":
		return true
	}
	return false
}

func foreign(address string) bool {
	return address != "" && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(address)), "data:")
}

// object looks at an object whose beginning has been read. The input of an agent's tools
// is only quoted to the model, whatever it looks like.
func (l looker) object(key string) (found bool, err error) {
	var (
		seen   = map[string]bool{}
		input  bool // found in the input of what may be a tool's use
		use    bool
		kind   bool // says that it is something to fetch
		url    bool // has one
		quoted = l.protocol == model.Gemini && (key == "functioncall" || key == "functionresponse")
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
		kind = kind || child == "type" && isMedia(text)
		url = url || child == "url" && foreign(text)
		use = use || l.protocol == model.Anthropic && name == "type" && (text == "tool_use" || text == "server_tool_use")
		found = found || key == inTools && child == "type" && !ownTool(l.protocol, text)
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

// maxLeft bounds the names of what was left out that are reported.
const maxLeft = 20

// leaveOut reports what was left out of a request, each name once.
func (s *Session) leaveOut(names []string) {
	for _, name := range names {
		name = strings.ToValidUTF8(name[:min(len(name), 100)], "")
		s.mu.Lock()
		fresh := len(s.left) < maxLeft && !slices.Contains(s.left, name)
		if fresh {
			s.left = append(s.left, name)
		}
		s.mu.Unlock()
		if fresh && s.config.LeftOut != nil {
			s.config.LeftOut(name)
		}
	}
}

// Vendors themselves know only references within a schema, but servers that speak their
// protocols hand schemas to libraries of which some fetch what a reference names. So a
// reference that leads elsewhere is refused, in tools and in the form of an answer.

// quotes says whether a field holds what was said: a schema there is text to the model.
func quotes(field string) bool {
	switch field {
	case "messages", "contents", "input", "system", "systeminstruction", "instructions":
		return true
	}
	return false
}

// references is what the references of a schema lead to.
type references struct {
	remote   bool // an address
	relative bool // a name, which may be one below an address
	base     bool // the schema says that names are below an address
}

// schemas refuses references to other hosts in anything that a field holds. In messages, only
// lists of tools are schemas, which the Responses API has there.
func (c *call) schemas(name string, raw json.RawMessage) *fault {
	said := quotes(plain(name))
	if said && c.kind != kindResponses {
		return nil
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil //nolint:nilerr // what is not JSON is refused where the body is read
	}
	var found references
	found.add(value, !said)
	if found.remote || found.relative && found.base {
		return errFetch(name + ": a $ref to another address")
	}
	return nil
}

func (r *references) add(value any, schema bool) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			r.add(one, schema)
		}
	case map[string]any:
		for key, one := range v {
			if text, ok := one.(string); ok && schema {
				r.note(key, strings.TrimSpace(text))
			} else {
				r.add(one, schema || plain(key) == "tools")
			}
		}
	}
}

func (r *references) note(key, text string) {
	// Browsers and some libraries read a backslash as a slash.
	address := strings.Contains(text, "://") || strings.HasPrefix(strings.ReplaceAll(text, `\`, "/"), "//")
	switch strings.ToLower(key) {
	case "$ref", "$dynamicref", "$recursiveref":
		r.remote = r.remote || address
		r.relative = r.relative || !strings.HasPrefix(text, "#")
	case "$id", "id":
		r.base = r.base || address
	}
}
