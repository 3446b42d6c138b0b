package gateway

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
)

// maxRequest bounds the body of a request to a model.
const maxRequest = 32 << 20

// kind is what a request to a model asks for.
type kind int

const (
	kindLook     kind = iota + 1 // costs nothing: lists of models, counting of tokens
	kindMessages                 // Anthropic
	kindChat                     // OpenAI
	kindResponses
	kindGenerate // Gemini
)

// call is a request to a model, as it is passed on.
type call struct {
	protocol model.Protocol
	kind     kind
	method   string
	path     string // behind the endpoint's URL, escaped
	query    url.Values
	header   http.Header
	body     []byte
	choice   model.Choice
	stream   bool
	expected model.Tokens // before anything is known
	left     []string     // what is not passed on
}

// metered says whether it costs something.
func (c *call) metered() bool { return c.kind != kindLook }

func errNoRoute(protocol model.Protocol, path string) *fault {
	return &fault{http.StatusNotFound, string(lineshaft.CodeNotFound), fmt.Sprintf("the gateway does not pass on %s%s", protocol, lineshaft.CutBytes(path, 100))}
}

// route finds out what a path asks for, and what is known of that without the body.
// Everything that is not listed here is refused.
func route(protocol model.Protocol, method, path string) (c call, named string, err *fault) {
	c = call{protocol: protocol, method: method, path: path}
	switch protocol {
	case model.Anthropic:
		c.kind = match(method, path, "/v1/models", map[string]kind{"/v1/messages": kindMessages, "/v1/messages/count_tokens": kindLook})
	case model.OpenAI:
		c.path = strings.TrimPrefix(path, "/v1")
		c.kind = match(method, path, "/v1/models", map[string]kind{"/v1/chat/completions": kindChat, "/v1/responses": kindResponses})
	case model.Gemini:
		version, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if version != "v1beta" && version != "v1" {
			break
		}
		id, action, verb := strings.Cut(strings.TrimPrefix(rest, "models/"), ":")
		if !verb {
			c.kind = match(method, "/"+rest, "/models", nil)
			break
		}
		named = id
		c.stream = action == "streamGenerateContent"
		c.path = "/" + version + "/models/%s:" + action // the name may be replaced; others are refused below
		c.kind = match(method, action, "", map[string]kind{"generateContent": kindGenerate, "streamGenerateContent": kindGenerate, "countTokens": kindLook})
		if !strings.HasPrefix(rest, "models/") || !modelName(id) {
			c.kind = 0
		}
	}
	if c.kind == 0 {
		return c, "", errNoRoute(protocol, path)
	}
	return c, named, nil
}

// match looks a path up among those that are posted to, and the list of models and
// its entries, which are read.
func match(method, path, list string, posted map[string]kind) kind {
	if method == http.MethodPost {
		return posted[path]
	}
	if method == http.MethodGet && list != "" && (path == list || strings.HasPrefix(path, list+"/") && modelName(path[len(list)+1:])) {
		return kindLook
	}
	return 0
}

// modelName says whether a part of a path can only be the name of a model: nothing
// in it means something else to an endpoint that decodes a path again.
func modelName(text string) bool {
	return strings.Trim(text, ".") != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:@-") == ""
}

// read makes the call of a request.
func (s *Session) read(w http.ResponseWriter, r *http.Request, c call, named string, taken *room) (*call, *fault) {
	protocol := c.protocol
	c.query, c.header = passedQuery(&c, r.URL.Query()), passedHeader(r.Header)
	var fields map[string]json.RawMessage
	if r.Method == http.MethodPost {
		var (
			size int64
			err  *fault
		)
		if fields, size, err = readBody(w, r); err != nil {
			return nil, err
		}
		taken.shrink(size)
		if s.config.Confined {
			if err := c.within(fields); err != nil {
				return nil, err
			}
			s.leaveOut(c.left)
		}
		if protocol != model.Gemini {
			_ = json.Unmarshal(fields["model"], &named)     // a value that is not text names no model
			_ = json.Unmarshal(fields["stream"], &c.stream) // the endpoint says what is wrong with it
		}
	}
	var ok bool
	if set := s.offered; r.Method == http.MethodPost {
		c.choice, ok = set.ForRequest(protocol, named, s.config.Model)
	} else {
		c.choice, ok = set.ForRun(protocol, "") // a list that no model is named for
	}
	if !ok {
		return nil, s.notOffered(protocol, named)
	}
	return &c, c.fill(fields)
}

func (s *Session) notOffered(protocol model.Protocol, named string) *fault {
	if own := s.config.Model; own != "" {
		named = own
	}
	return &fault{http.StatusNotFound, codeNoModel, fmt.Sprintf("no %s endpoint of this worker offers the model %q; see GET /api/v1/agent/models", protocol, named)}
}

// fill puts the chosen model into the call, and what makes the endpoint report its
// usage. The body is written again: a field that occurs twice cannot then mean
// one model here and another one there.
func (c *call) fill(fields map[string]json.RawMessage) *fault {
	if c.protocol == model.Gemini && strings.Contains(c.path, "%s") {
		c.path = strings.Replace(c.path, "%s", url.PathEscape(c.choice.Model), 1)
	}
	if fields == nil {
		return nil
	}
	for name, raw := range fields { // some servers do not look at the case
		if name != "model" && strings.EqualFold(name, "model") {
			delete(fields, name)
		}
		if c.kind == kindResponses && strings.EqualFold(name, "background") && bytes.Equal(raw, []byte("true")) {
			return &fault{http.StatusBadRequest, string(lineshaft.CodeNotSupported), "background answers cannot be counted; leave background out"}
		}
	}
	if c.protocol != model.Gemini && c.choice.Model != "" {
		fields["model"], _ = json.Marshal(c.choice.Model) // a text always encodes
	}
	if c.kind == kindChat && c.stream {
		fields["stream_options"] = withUsage(fields["stream_options"])
	}
	for _, name := range generationNames() {
		var config map[string]json.RawMessage
		if json.Unmarshal(fields[name], &config) == nil && config != nil {
			fields[name], _ = json.Marshal(config) // what was read as JSON encodes
		}
	}
	body, err := json.Marshal(fields)
	if err != nil { // it was read as JSON a moment ago
		return errNotObject()
	}
	c.body = body
	c.expected = expected(c, fields)
	return nil
}

// withUsage asks for the usage at the end of a stream.
func withUsage(options json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if json.Unmarshal(options, &fields) != nil || fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields["include_usage"] = json.RawMessage("true")
	out, err := json.Marshal(fields)
	if err != nil {
		return json.RawMessage(`{"include_usage":true}`)
	}
	return out
}

// passedFields are the fields that are passed on from a request of an agent that is not
// to reach the network, by their plain names. There are too many servers of these
// protocols, and too many of their own fields that mean a search or a fetch, to list
// those instead.
func passedFields(c *call) []string {
	switch {
	case c.protocol == model.Anthropic:
		return anthropicFields
	case c.protocol == model.Gemini:
		return geminiFields
	case c.kind == kindResponses:
		return responsesFields
	}
	return chatFields
}

// plain is a name as any server may read it: some ignore the case, and
// some accept both spellings of two words.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// plainly makes a sorted list of plain names.
func plainly(names string) []string {
	list := strings.Fields(names)
	for i, name := range list {
		list[i] = plain(name)
	}
	slices.Sort(list)
	return list
}

func passesField(c *call, plain string) bool {
	_, found := slices.BinarySearch(passedFields(c), plain)
	return found
}

var (
	anthropicFields = plainly(`model messages system max_tokens metadata stop_sequences stream temperature top_k top_p tools tool_choice thinking
		context_management output_config output_format service_tier inference_geo cache_control speed`)
	geminiFields = plainly(`model contents system_instruction tools tool_config safety_settings generation_config labels store service_tier
		generate_content_request`)
	responsesFields = plainly(`model input instructions tools tool_choice parallel_tool_calls reasoning store stream stream_options include text
		service_tier temperature top_p top_logprobs max_output_tokens max_tool_calls metadata client_metadata previous_response_id conversation truncation user
		safety_identifier prompt_cache_key prompt_cache_retention background context_management`)
	chatFields = plainly(`model messages tools tool_choice parallel_tool_calls functions function_call max_tokens max_completion_tokens n temperature
		top_p top_k min_p presence_penalty frequency_penalty repetition_penalty logit_bias logprobs top_logprobs response_format seed stop stream
		stream_options user metadata store service_tier reasoning reasoning_effort reasoning_split thinking enable_thinking thinking_budget chat_template_kwargs
		verbosity prediction modalities audio prompt_cache_key prompt_cache_retention safety_identifier usage`)
)

// ownTool says whether the agent itself carries out the tools of a type, or the
// vendor does without reaching further.
func ownTool(protocol model.Protocol, kind string) bool {
	if protocol == model.Anthropic {
		return kind == "" || kind == "custom" || slices.ContainsFunc([]string{"bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"}, func(p string) bool { return strings.HasPrefix(kind, p) })
	}
	return slices.Contains([]string{"function", "custom", "local_shell", "apply_patch", "tool_search", "image_generation", "computer", "computer_use_preview", "namespace"}, kind)
}

// ServeHTTP leads a request where it may go.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		http.Error(w, errClosed.Error(), http.StatusServiceUnavailable)
		return
	}
	defer s.leave(1, 0)
	if r.Method == http.MethodConnect || r.URL.IsAbs() && r.URL.Host != s.base.Host {
		s.serveProxy(w, r)
		return
	}
	clean := path.Clean(r.URL.Path)
	if clean != r.URL.Path && clean+"/" != r.URL.Path {
		http.NotFound(w, r)
		return
	}
	first, rest, _ := strings.Cut(strings.TrimPrefix(clean, "/"), "/")
	switch first {
	case string(model.Anthropic), string(model.OpenAI), string(model.Gemini):
		s.serveModel(w, r, model.Protocol(first), "/"+rest)
	case "api":
		s.serveAPI(w, r, rest)
	case "mcp":
		s.serveTool(w, r, rest)
	default:
		http.NotFound(w, r)
	}
}

// given is the key that a client has sent in any of the protocols' ways.
func given(r *http.Request) string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	if key := r.Header.Get("X-Goog-Api-Key"); key != "" {
		return key
	}
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
		return token
	}
	return r.URL.Query().Get("key")
}

func same(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
