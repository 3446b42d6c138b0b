package gateway

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft/internal/model"
)

// passedFields are what is passed on of the body of a request from an agent that is not
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

// plain is a name as any server may read it: not all of them look at the case, and
// some take both ways of writing two words.
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

// ownTool says whether tools of a type are carried out by the agent itself, or at the
// vendor without reaching further.
func ownTool(protocol model.Protocol, kind string) bool {
	if protocol == model.Anthropic {
		return kind == "" || kind == "custom" || slices.ContainsFunc([]string{"bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"}, func(p string) bool { return strings.HasPrefix(kind, p) })
	}
	return slices.Contains([]string{"function", "custom", "local_shell", "apply_patch", "tool_search", "image_generation", "computer", "computer_use_preview", "namespace"}, kind)
}
