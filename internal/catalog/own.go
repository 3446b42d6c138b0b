package catalog

import (
	"github.com/lineshaft/lineshaft"
)

// quiet is a family of one event without reads, for providers that send nothing.
func quiet(name, silent string, keys ...string) *family {
	f := &family{name: name, silent: silent, has: reads{}}
	for _, one := range keys {
		f.has[one] = nil
	}
	return f
}

func webhook() *provider {
	return &provider{name: lineshaft.ProviderWebhook, families: []*family{quiet(lineshaft.EventReceived, "")}}
}

func schedule() *provider {
	ids := exact("uid of a schedule")
	ids.allowed = true
	return &provider{
		name:     lineshaft.ProviderSchedule,
		keys:     []key{{name: lineshaft.KeyScheduleIDs, doc: "Schedules that exist already, instead of an inline schedule.", form: ids}},
		families: []*family{quiet(lineshaft.EventCronFired, "", lineshaft.KeyScheduleIDs)},
	}
}

func run() *provider {
	state := func(value string) error {
		if !lineshaft.RunState(value).Terminal() {
			return lineshaft.Invalid("", "%q is no state that a run ends in; use SUCCEEDED, FAILED, ERROR or CANCELLED", value)
		}
		return nil
	}
	return &provider{
		name: lineshaft.ProviderRun,
		keys: []key{
			{name: lineshaft.KeyAgents, doc: "Agents of the run that has finished, by name.", form: exact("name of an agent")},
			{name: lineshaft.KeyAutomations, doc: "Automations of the run that has finished, by name.", form: exact("name of an automation")},
			{
				name: lineshaft.KeyStates, doc: "States that the run ended in.",
				form: form{kind: "state", check: state, pattern: `^(SUCCEEDED|FAILED|ERROR|CANCELLED)$`},
			},
			{name: lineshaft.KeyFactories, doc: "Factories of the run that has finished, by uid.", form: exact("uid of a factory")},
		},
		families: []*family{quiet(lineshaft.EventFinished, "", lineshaft.KeyAgents, lineshaft.KeyAutomations, lineshaft.KeyStates, lineshaft.KeyFactories)},
	}
}

func factory() *provider {
	return &provider{
		name:     lineshaft.ProviderFactory,
		keys:     []key{{name: "stages", doc: "Stages that the work item gets to.", form: anyCase("stage")}},
		families: []*family{quiet("work_item_stage_changed", "this server has no stages of work items", "stages")},
	}
}
