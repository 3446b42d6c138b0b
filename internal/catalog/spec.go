package catalog

import (
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// EventSpec is an event that triggers may name, with the keys of its filters.
type EventSpec struct {
	Event string
	Keys  []KeySpec
	// Silent is why no such event comes here; empty when they do.
	Silent string
}

// KeySpec describes a key of filters.
type KeySpec struct {
	Name string
	Doc  string
	// Value is what a value is, for people.
	Value string
	// Alias is the key that this one stands for and excludes.
	Alias string
	// Whole says that values are whole numbers. List takes neither in nor not_in,
	// InOnly takes no not_in.
	Whole, List, InOnly bool
	Required            bool
	// Most bounds the values; 0 is the usual bound. Pattern is what each of them matches,
	// as a regular expression for schemas; "" is any text.
	Most    int
	Pattern string
	// AnyCase, Patterns and Part say how values are compared.
	AnyCase, Patterns, Part bool
	// Unseen is why events usually do not have it, so that the trigger does not fire.
	Unseen string
}

// Catalog lists the events of a provider by name; false when there is no such provider.
func Catalog(name string) ([]EventSpec, bool) {
	p := providerOf(name)
	if p == nil {
		return nil, false
	}
	var list []EventSpec
	for _, event := range Events(name) {
		f, action := p.find(event)
		list = append(list, EventSpec{Event: event, Keys: p.specs(f, action), Silent: f.silent})
	}
	if p.open != nil {
		list = append(list, EventSpec{Event: AnyEvent, Keys: p.specs(p.open, ""), Silent: p.open.silent})
	}
	return list, true
}

// AnyEvent stands for every event of a provider whose events are not established.
const AnyEvent = "*"

func (p *provider) specs(f *family, action string) []KeySpec {
	var list []KeySpec
	for _, k := range p.keysOf(f, action) {
		list = append(list, k.spec(f.blind[k.source()]))
	}
	return list
}

func (k *key) spec(unseen string) KeySpec {
	return KeySpec{
		Name: k.name, Doc: k.doc, Value: k.form.kind, Alias: k.alias, Required: k.required, Unseen: unseen,
		Most: k.form.most, Pattern: k.form.pattern,
		Whole: k.form.whole, List: k.form.listed, InOnly: k.form.allowed, AnyCase: k.form.fold, Patterns: k.form.globs, Part: k.form.part,
	}
}

// Keys are the keys of all providers' filters, in the order of the table, each once with
// all that it is for.
func Keys() []KeySpec { return slices.Clone(allKeys) }

var allKeys = gatherKeys()

func gatherKeys() []KeySpec {
	var list []KeySpec
	for _, p := range table {
		for _, k := range p.keys {
			at := slices.IndexFunc(list, func(known KeySpec) bool { return known.Name == k.name })
			if at < 0 {
				spec := k.spec("")
				spec.Doc = "Of " + p.name + ": " + k.doc
				list = append(list, spec)
				continue
			}
			list[at].List = list[at].List && k.form.listed
			list[at].Doc = mergeDocs(list[at].Doc, p.name, k.doc)
		}
	}
	return list
}

// mergeDocs says a text once for the providers that share it.
func mergeDocs(known, provider, doc string) string {
	if before, found := strings.CutSuffix(known, ": "+doc); found {
		return before + ", " + provider + ": " + doc
	}
	return known + " Of " + provider + ": " + doc
}

// Sample is a trigger of a provider that has no mistakes.
func Sample(name string) lineshaft.Trigger {
	t := lineshaft.Trigger{Provider: name, Event: lineshaft.EventReceived}
	if p := providerOf(name); p != nil && len(p.families) > 0 {
		t.Event = p.families[0].names()[0]
		for _, k := range p.specs(p.families[0], "") {
			if k.Required {
				t.Filter.Put(k.Name, &lineshaft.Choice{In: []string{"any"}})
			}
		}
	}
	switch name {
	case lineshaft.ProviderWebhook:
		t.Filter.Webhooks = []string{"any"}
	case lineshaft.ProviderSchedule:
		t.Schedule = &lineshaft.Timing{Cron: "@daily"}
	}
	return t
}
