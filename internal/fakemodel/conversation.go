package fakemodel

import "strings"

// object is a JSON object.
type object = map[string]any

// Conversation is what a request asks, in the same words for every API.
type Conversation struct {
	// Protocol is anthropic, chat, responses or gemini.
	Protocol string
	Model    string
	Stream   bool
	Tools    []Tool
	Messages []Message
	// Schema is the shape that the answer shall have; nil for free text.
	Schema map[string]any
	// countStream asks for the usage of a streamed chat: the vendor gives none unasked.
	countStream bool
}

// Tool is one that the request offers.
type Tool struct {
	Name string
	// Namespace is the group that Responses puts the tools of an MCP server in.
	Namespace string
	Schema    map[string]any
}

// Message is one turn of the conversation.
type Message struct {
	// Role is system, user, assistant or tool.
	Role    string
	Text    string
	Calls   []Call
	Results []Result
	parts   []string
}

// Call is a tool call.
type Call struct {
	ID        string
	Name      string
	Namespace string
	Arguments map[string]any
}

// Result is what a tool gave.
type Result struct {
	CallID string
	Text   string
}

// Asked is what the user said last and how many tools were answered since. Of
// several messages without an answer between them the last one with a step counts,
// or else all of them. Remarks that agents put in on their own are left out.
func (c Conversation) Asked() (text string, results int) {
	answered := false
	for _, m := range c.Messages {
		results += len(m.Results)
		answered = answered || m.Role == "assistant"
		for _, said := range m.said() {
			if answered || stepWord.MatchString(said) {
				text, results, answered = "", 0, false
			}
			text += "\n" + said
		}
	}
	return strings.TrimSpace(text), results
}

// said are the texts of a user, one for each part of the message: an agent whose
// turn was cut off may put the next message into the same one.
func (m Message) said() []string {
	if m.Role != "user" || strings.TrimSpace(m.Text) == "" {
		return nil
	}
	if len(m.parts) > 0 {
		return m.parts
	}
	return []string{m.Text}
}

// isRemark says that a text comes from the agent and not from its user.
func isRemark(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "<system-reminder>")
}

func list(v any) []any { l, _ := v.([]any); return l }

func at(v any) object { o, _ := v.(object); return o }

func str(v any) string { s, _ := v.(string); return s }

// partsOf are the texts of a content field that is a list of parts.
func partsOf(content any) []string {
	var parts []string
	for _, part := range list(content) {
		if text := str(at(part)["text"]); text != "" && !isRemark(text) {
			parts = append(parts, text)
		}
	}
	return parts
}

// plain is the text of a content field: a text, or a list of parts that have one.
func plain(content any) string {
	if s, ok := content.(string); ok {
		return s
	}
	return strings.Join(partsOf(content), "\n")
}
