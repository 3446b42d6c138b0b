package definition

import (
	"maps"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// part is a part of a definition as a document.
type part struct {
	kind Kind
	name string
	// keys are what its file says. A prompt is one of them.
	keys *node
	// body is the text of a skill.
	body string
}

// parts are all of a definition, in the order of plans.
func (d *Definition) parts() []part {
	version, f := Version, d.Factory
	list := []part{{kind: KindFactory, name: d.Factory.Name, keys: writeObject(factoryKeys(&version, &f))}}
	for _, a := range d.Agents {
		list = append(list, part{kind: KindAgent, name: a.Name, keys: writeObject(agentKeys(&a))})
	}
	for _, a := range d.Automations {
		list = append(list, part{kind: KindAutomation, name: a.Name, keys: writeObject(automationKeys(&a))})
	}
	for _, w := range d.Webhooks {
		list = append(list, part{kind: KindWebhook, name: w.Name, keys: writeObject(webhookKeys(&w))})
	}
	for _, r := range d.Runners {
		list = append(list, part{kind: KindRunner, name: r.Name, keys: writeObject(runnerKeys(&r.Config))})
	}
	for _, s := range d.Skills {
		name := s.Name
		list = append(list, part{kind: KindSkill, name: skillName(s), keys: writeObject(skillKeys(&s, &name)), body: s.Body})
	}
	for i := range list {
		list[i] = list[i].withKept(d.kept)
	}
	return list
}

// id tells parts apart. There is one factory, whatever it is called.
func (p part) id() string {
	if p.kind == KindFactory {
		return string(KindFactory)
	}
	return string(p.kind) + "\x00" + p.name
}

// value is all that a part says.
func (p part) value() string { return p.keys.json() + p.body }

func (d *Definition) file(p part) string {
	if at, ok := d.places[placeKey(p.kind, p.name, "")]; ok {
		return at.file
	}
	return partFile(p.kind, p.name)
}

func (p part) text() string {
	switch p.kind {
	case KindAgent, KindAutomation:
		keys, prompt := p.splitPrompt()
		return frontmatter.Join(writeYAML(keys), prompt)
	case KindSkill:
		return frontmatter.Join(writeYAML(p.keys), p.body)
	case KindFactory, KindWebhook, KindRunner, KindScorer, KindBenchmark:
	}
	if text := writeYAML(p.keys); text != "" {
		return text
	}
	return "{}\n" // an empty file counts as a mistake
}

// splitPrompt takes the prompt out of the keys, if it reads back unchanged from below
// the front matter.
func (p part) splitPrompt() (*node, string) {
	keys, prompt := &node{kind: objectNode}, ""
	for _, f := range p.keys.fields {
		if f.key == "prompt" && frontmatter.Split(frontmatter.Join("", f.value.text)).Body == f.value.text {
			prompt = f.value.text
			continue
		}
		keys.fields = append(keys.fields, f)
	}
	return keys, prompt
}

// Render makes the folder of a definition. A file of keep that is without problems
// and says the same stays as it is, byte for byte, and so do those that are not used.
func Render(d *Definition, keep Files) Files { return Keep(keep).Render(d) }

// Kept is a folder that was read, so that what is said the same way stays.
type Kept struct {
	files  Files
	parts  map[string]keptPart
	values keptValues
	unused []string
	inert  []inertFile
}

type keptPart struct{ file, value string }

// Keep reads a folder that is to be kept. It is most of the work of Render, and can be
// done ahead.
func Keep(files Files) *Kept {
	k := &Kept{files: files, parts: map[string]keptPart{}}
	if len(files) == 0 {
		return k
	}
	def, problems := Parse(files)
	bad := map[string]bool{}
	for _, p := range problems {
		bad[p.File] = true
	}
	for _, p := range def.parts() {
		if file := def.file(p); !bad[file] && files[file] != "" {
			k.parts[p.id()] = keptPart{file, p.value()}
		}
	}
	k.unused, k.values, k.inert = def.Unused, def.kept, def.inert
	return k
}

// Complete is a definition that was not read from a folder, with what this folder says
// without effect.
func (k *Kept) Complete(d *Definition) *Definition {
	if d.kept != nil {
		return d
	}
	whole := *d
	whole.kept, whole.inert = k.values, k.inert
	return &whole
}

// Render makes the folder of a definition, as the function of that name does.
func (k *Kept) Render(d *Definition) Files {
	out := Files{}
	for _, p := range k.Complete(d).parts() {
		if old, ok := k.parts[p.id()]; ok && old.value == p.value() {
			out[old.file] = k.files[old.file]
			continue
		}
		out[partFile(p.kind, p.name)] = p.text()
	}
	for _, name := range k.unused {
		if _, taken := out[name]; !taken {
			out[name] = k.files[name]
		}
	}
	return out
}

// shortText is a text on one line, for plans. Blank space around it is shown.
func shortText(s string) string {
	line, _, more := strings.Cut(s, "\n")
	if line = lineshaft.Clip(line, 80); more && !strings.HasSuffix(line, "…") {
		line += "…"
	}
	if line != strings.TrimSpace(line) || line == "" || strings.HasPrefix(s, "\n") {
		return quoteJSON(lineshaft.Clip(s, 80))
	}
	return line
}

// keptValues are what the folder of a factory says without any effect on this server, by
// part and path. No noun has them, so they are carried from one folder to the next.
type keptValues map[string]map[string]*node

// keep remembers a value of the document.
func (r *reader) keep(path string, n *node) {
	id := part{kind: r.kind, name: r.name}.id()
	if r.kept[id] == nil {
		r.kept[id] = map[string]*node{}
	}
	r.kept[id][path] = n
}

// withKept adds to a document what is kept of its part.
func (p part) withKept(kept keptValues) part {
	for _, path := range slices.Sorted(maps.Keys(kept[p.id()])) {
		p.keys.put(path, kept[p.id()][path])
	}
	return p
}

// put sets a value below keys that may be missing. An element of a list is identified by its
// owner and name; an element that is gone takes its value with it.
func (n *node) put(path string, v *node) {
	head, rest, deeper := cutPath(path)
	if !deeper {
		n.fields = append(n.fields, field{key: head, value: v})
		return
	}
	list, element, listed := strings.Cut(head, "[")
	if listed {
		n = n.get(list).repository(strings.TrimSuffix(element, "]"))
	} else if n.get(head) == nil {
		n.fields = append(n.fields, field{key: head, value: &node{kind: objectNode}})
	}
	if !listed {
		n = n.get(head)
	}
	if n != nil {
		n.put(rest, v)
	}
}

// cutPath splits a path behind its first key. Dots in brackets belong to a name.
func cutPath(path string) (head, rest string, deeper bool) {
	if open := strings.Index(path, "["); open >= 0 && open < strings.Index(path+".", ".") {
		end := strings.Index(path, "].")
		return path[:end+1], path[end+2:], true
	}
	return strings.Cut(path, ".")
}

// repository finds the element of a list that names a repository.
func (n *node) repository(name string) *node {
	if n == nil {
		return nil
	}
	for _, item := range n.items {
		owner, own := item.get("owner"), item.get("name")
		if owner != nil && own != nil && owner.text+"/"+own.text == name {
			return item
		}
	}
	return nil
}
