package catalog

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// Notice is what a reader of a sound trigger should know.
type Notice struct {
	// Field is within the trigger, such as filter.paths; empty is the trigger itself.
	Field string
	Text  string
}

// slackID is what Slack's events call channels and users.
var slackID = regexp.MustCompile(`^[CGDUW][A-Z0-9]{5,}$`)

// Notices are why a sound trigger never fires here, or not for all that it names.
// The handle is what the factory is mentioned by.
func Notices(t lineshaft.Trigger, handle string) []Notice {
	p := providerOf(t.Provider)
	if p == nil {
		return nil
	}
	f, action := p.find(t.Event)
	if f == nil {
		return nil
	}
	var list []Notice
	if f.silent != "" {
		list = append(list, Notice{Text: f.silent + ": the trigger is kept and never fires"})
	}
	if f.handled && handle == "" {
		list = append(list, Notice{Text: "the factory has no alias, so nobody can mention it: give it one, or the trigger never fires"})
	}
	for _, k := range p.keysOf(f, action) {
		choice := t.Filter.Set(k.name)
		if choice == nil {
			continue
		}
		if why := f.blind[k.source()]; why != "" {
			list = append(list, Notice{Field: "filter." + k.name, Text: why})
		}
		if name := unsentName(t.Provider, &k, choice); name != "" {
			list = append(list, Notice{Field: "filter." + k.name, Text: fmt.Sprintf("%q is a name, and Slack sends ids; write the id in %s", name, k.alias)})
		}
		if k.name == lineshaft.KeyScheduleIDs {
			list = append(list, Notice{Field: "filter." + k.name, Text: "schedules of this server start runs of their own, so the trigger never fires; write a schedule with its cron expression instead"})
		}
	}
	return list
}

// NoteTriggers are the notices of all triggers of an automation, each with its place.
func NoteTriggers(triggers []lineshaft.Trigger, handle string) []string {
	var notes []string
	for i, t := range triggers {
		for _, n := range Notices(t, handle) {
			place := fmt.Sprintf("triggers[%d]", i)
			if n.Field != "" {
				place += "." + n.Field
			}
			notes = append(notes, place+": "+n.Text)
		}
	}
	return notes
}

// Unheard is why no event reaches a trigger, in a factory whose webhooks have these
// signature schemes; empty when one may.
func Unheard(t lineshaft.Trigger, schemes []string) string {
	if !t.Sent() || slices.Contains(schemes, t.Provider) {
		return ""
	}
	const why = "the factory has no webhook that takes events of %[1]s, so the trigger never fires: add one whose signature scheme is %[1]s"
	return fmt.Sprintf(why, t.Provider)
}

// unsentName is a name that no event of the provider carries.
func unsentName(provider string, k *key, choice *lineshaft.Choice) string {
	if provider != lineshaft.ProviderSlack || k.alias == "" {
		return ""
	}
	for _, value := range choice.In {
		if plain := k.form.clean(value); !slackID.MatchString(plain) {
			return value
		}
	}
	return ""
}
