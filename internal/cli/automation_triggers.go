package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft/client"
)

// triggers reads what --trigger was given: PROVIDER/EVENT, JSON, or @ and a file with it.
func (sh *shell) triggers(texts []string) ([]client.Trigger, error) {
	var list []client.Trigger
	for _, text := range texts {
		if provider, event, ok := strings.Cut(text, "/"); ok && !strings.ContainsAny(text, "{[@\"") {
			list = append(list, client.Trigger{Provider: provider, Event: event})
			continue
		}
		raw, err := sh.jsonOrFile("trigger", text)
		if err != nil || raw == nil {
			return nil, usage(fmt.Sprintf("--trigger %q is neither PROVIDER/EVENT nor JSON", clip(text, 40)), triggerAdvice)
		}
		var t client.Trigger
		if err := json.Unmarshal(raw, &t); err != nil || t.Provider == "" || t.Event == "" {
			return nil, usage(fmt.Sprintf("--trigger %s is no trigger", clip(oneLine(string(raw)), 40)), triggerAdvice)
		}
		list = append(list, t)
	}
	return list, nil
}

const triggerAdvice = `Write --trigger github/push, or --trigger '{"provider":"github","event":"push","filter":{"branches":["main"]}}'; docs/triggers.md has them all.`

// startedBy tells in a few words what starts the runs of an automation.
func (there webhookRefs) startedBy(a client.Automation) []string {
	list := there.listensTo(a)
	for _, t := range a.Triggers {
		switch {
		case t.Provider == "webhook":
		case t.Schedule != nil:
			list = append(list, t.Schedule.Cron)
		default:
			list = append(list, t.Provider+"/"+t.Event)
		}
	}
	return list
}
