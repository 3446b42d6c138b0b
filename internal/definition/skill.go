package definition

import (
	"fmt"

	"github.com/lineshaft/lineshaft"
)

func skillKeys(s *lineshaft.Skill, name *string) []key {
	return []key{
		{name: "name", doc: "the name, which is that of its folder", required: true, value: text(name, textRules{filled: true})},
		{name: "description", doc: "what the skill is for", required: true, value: text(&s.Description, textRules{filled: true, most: lineshaft.MaxSkillDescription})},
	}
}

// readSkill reads a SKILL.md. Such files are shared with other programs, so their
// front matter may have keys that we do not know.
func (p *parsing) readSkill(file, agent, name, text string) {
	s := lineshaft.Skill{Agent: agent, Name: name}
	r := p.reader(file, KindSkill, skillName(s))
	if len(text) > lineshaft.MaxSkillBytes {
		r.report(0, 0, fmt.Sprintf("the skill has %d bytes", len(text)), fmt.Sprintf("at most %d are allowed; put details into files beside it", lineshaft.MaxSkillBytes))
		return
	}
	n, body, _ := r.frontMatter(text)
	if n == nil {
		return
	}
	s.Body = body
	var said string
	keys := skillKeys(&s, &said)
	if n.kind == objectNode {
		n.fields = knownFields(n.fields, keys)
	}
	r.object("", n, keys)
	if at := n.get("name"); said != "" && said != name {
		r.notice(file, lineshaft.FileProblem{
			File: file, Line: at.line + r.above, Column: at.column,
			Message: fmt.Sprintf("name: %q is not the name of its folder: agents are given the skill as %q", lineshaft.Clip(said, 60), name), Hint: "give both the same name",
		})
	}
	p.def.Skills = append(p.def.Skills, s)
}

func knownFields(fields []field, keys []key) []field {
	var known []field
	for _, f := range fields {
		if contains(names(keys), f.key) {
			known = append(known, f)
		}
	}
	return known
}
