package catalog

import (
	"slices"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// provider is one row of the table: who sends events, and what they are.
type provider struct {
	name string
	// header is where requests name the kind of event; "" when only the body does.
	header string
	// kind is what the provider calls a request.
	kind     func(header string, body filter.Value) string
	keys     []key
	families []*family
	// open takes every event: their names are not established.
	open *family
}

// table is in the order of lineshaft.Providers.
var table = []*provider{webhook(), schedule(), run(), github(), gitlab(), linear(), slack(), jira(), teams(), azureDevOps(), factory()}

func providerOf(name string) *provider {
	if at := slices.IndexFunc(table, func(p *provider) bool { return p.name == name }); at >= 0 {
		return table[at]
	}
	return nil
}

// key finds a key by its name; nil when the provider has none.
func (p *provider) key(name string) *key {
	if at := slices.IndexFunc(p.keys, func(k key) bool { return k.name == name }); at >= 0 {
		return &p.keys[at]
	}
	return nil
}

// source is the key whose values a key looks at.
func (k *key) source() string {
	if k.spelling {
		return k.alias
	}
	return k.name
}

// keysOf are the keys that events of a family with an action have, in order.
func (p *provider) keysOf(f *family, action string) []key {
	var list []key
	for _, k := range p.keys {
		if !f.lacks(k.source(), action) {
			list = append(list, k)
		}
	}
	return list
}

// find returns the family and action of a trigger's event.
func (p *provider) find(event string) (f *family, action string) {
	for _, one := range p.families {
		if found, ok := one.find(event); ok {
			return one, found
		}
	}
	return p.open, ""
}

// Header is where a provider names the kind of event; "" when the body says it.
func Header(name string) string {
	if p := providerOf(name); p != nil {
		return p.header
	}
	return ""
}

// Events lists what triggers of a provider may name as their event, sorted.
func Events(name string) []string {
	p := providerOf(name)
	if p == nil {
		return nil
	}
	var names []string
	for _, f := range p.families {
		names = append(names, f.names()...)
	}
	slices.Sort(names)
	return names
}
