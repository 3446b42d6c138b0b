package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

// The answers to a question about a tool.
func permissionOptions() []lineshaft.PermissionOption {
	return []lineshaft.PermissionOption{
		{ID: "allow", Name: "Allow", Kind: "allow_once"},
		{ID: "always", Name: "Always allow this tool", Kind: "allow_always"},
		{ID: "reject", Name: "Reject", Kind: "reject_once"},
	}
}

// permit asks the policy about a call. The returned text is for the model; an
// empty text lets the call continue.
func (t *turn) permit(ctx context.Context, call chat.Call, at invocation) (refused string, err error) {
	if t.policy == Allow || t.allowed[call.Name] {
		return "", nil
	}
	question := lineshaft.PermissionData{ToolCallID: at.id, Title: title(call), Options: permissionOptions()}
	question.Title = t.env.Mask().String(question.Title)
	if t.policy != Ask {
		t.decided(question, false)
		return "The policy of this worker does not allow this tool. Do without it, or say what should be done.", nil
	}
	var answer string
	for {
		if answer, err = t.env.Ask(ctx, question); err != nil {
			return "", fmt.Errorf("ask for permission: %w", err)
		}
		wrong := harness.Astray(question.Options, answer)
		if wrong == "" {
			break
		}
		t.noticef("warning", "%s", wrong)
	}
	option, _ := harness.Choose(question.Options, answer)
	t.decided(question, strings.HasPrefix(option.Kind, "allow"))
	switch option.Kind {
	case "allow_always":
		t.allowed[call.Name] = true
		return "", nil
	case "allow_once":
		return "", nil
	case "reject_once":
		return "The user rejected this call. Do not try it again; find another way or ask.", nil
	default:
		return "The user did not allow this call but said: " + answer, nil
	}
}

func (t *turn) decided(question lineshaft.PermissionData, allowed bool) {
	question.Options, question.Decision = nil, "denied"
	if allowed {
		question.Decision = "allowed"
	}
	t.event(lineshaft.EventPermission, question)
}

// title says what a call would do, in a line.
func title(call chat.Call) string {
	input := shown(call.Arguments)
	for _, key := range []string{"command", "path"} {
		if text, ok := input[key].(string); ok {
			return call.Name + ": " + cut(text, 300)
		}
	}
	return call.Name + " " + cut(string(call.Arguments), 300)
}
