package lineshaft

import (
	"path"
	"slices"
	"strings"
)

// Limits of a skill.
const (
	MaxSkillBytes       = 256 << 10
	MaxSkillDescription = 4096
	MaxSkills           = 20
	// MaxComposedBytes bounds the first message to an agent: base prompt, skills and
	// prompt, with the prompt in all places that the skills have for it.
	MaxComposedBytes = 8 << 20
)

// SkillFile is the name of a file that holds a skill.
const SkillFile = "SKILL.md"

// SkillDirs are the folders of a repository that skills are kept in, in the order they
// are searched.
func SkillDirs() []string {
	return []string{
		".agents/skills", ".claude/skills", ".codex/skills", ".warp/skills", ".cursor/skills", ".gemini/skills",
		".copilot/skills", ".factory/skills", ".github/skills", ".opencode/skills", "skills",
	}
}

// Skill is a prompt that is kept in a repository or in a factory's definition.
type Skill struct {
	// Agent is whose skill it is; empty when all agents of the factory have it. It
	// says nothing about skills of a repository.
	Agent       string `json:"agent,omitempty"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Body is the text below the front matter.
	Body string `json:"body"`
	// Spec is how the skill was requested, Path where it was found and Commit the state
	// of the repository. Empty for those of a definition.
	Spec   string `json:"spec,omitempty"`
	Path   string `json:"path,omitempty"`
	Commit string `json:"commit,omitempty"`
}

// SkillRef is a parsed skill_spec: owner/repo:name, owner/repo:path/to/SKILL.md, both
// also without the owner, or the bare name of one of the factory's own.
type SkillRef struct {
	Repository Repository
	// Target is a name, or a path when it has a slash or ends in .md.
	Target string
}

// Local says that the skill is one of the factory's definition.
func (r SkillRef) Local() bool { return r.Repository == Repository{} }

// Ownerless says that the repository is named without its owner, and has yet to be
// found among those of the run's environment or factory.
func (r SkillRef) Ownerless() bool { return r.Repository.Owner == "" && r.Repository.Name != "" }

// IsPath says that the target is an exact path in the repository.
func (r SkillRef) IsPath() bool {
	return strings.Contains(r.Target, "/") || strings.HasSuffix(r.Target, ".md")
}

// String is the spec again.
func (r SkillRef) String() string {
	if r.Local() {
		return r.Target
	}
	if r.Ownerless() {
		return r.Repository.Name + ":" + r.Target
	}
	return r.Repository.String() + ":" + r.Target
}

// ParseSkillRef reads a skill_spec.
func ParseSkillRef(spec string) (SkillRef, error) {
	const form = "%q is not a skill; write owner/repo:skill-name, owner/repo:path/to/SKILL.md, or the name of a skill of the factory"
	repository, target, ok := strings.Cut(spec, ":")
	if !ok {
		if CheckPartName("", spec) != nil {
			return SkillRef{}, Invalid("", form, Clip(spec, 120))
		}
		return SkillRef{Target: spec}, nil
	}
	r, err := parseOwnerless(repository)
	if err != nil || target == "" || len(target) > 512 || !storable(target) {
		return SkillRef{}, Invalid("", form, Clip(spec, 120))
	}
	for part := range strings.SplitSeq(target, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsAny(part, "\\\n\r") {
			return SkillRef{}, Invalid("", "the path of skill %q must stay inside its repository", Clip(spec, 120))
		}
	}
	return SkillRef{Repository: r, Target: target}, nil
}

// SkillSpecs are the ways to write what may be the same skill: its path, and its name if
// it is in one of the usual folders.
func SkillSpecs(spec string) []string {
	specs := []string{spec}
	ref, err := ParseSkillRef(spec)
	switch {
	case err != nil || ref.Local():
	case !ref.IsPath():
		for _, dir := range SkillDirs() {
			specs = append(specs, SkillRef{ref.Repository, path.Join(dir, ref.Target, SkillFile)}.String())
		}
	case path.Base(ref.Target) == SkillFile && slices.Contains(SkillDirs(), path.Dir(path.Dir(ref.Target))):
		specs = append(specs, SkillRef{ref.Repository, path.Base(path.Dir(ref.Target))}.String())
	}
	return specs
}

// parseOwnerless reads owner/name, or a name alone.
func parseOwnerless(s string) (Repository, error) {
	if strings.Contains(s, "/") {
		return ParseRepository(s)
	}
	return Repository{Name: s}, Repository{Owner: "any", Name: s}.Validate("")
}

// validateSkills checks the form of the skills of a configuration.
func validateSkills(field string, specs []string) error {
	if len(specs) > MaxSkills {
		return Invalid(field, "%d are too many; at most %d are allowed", len(specs), MaxSkills)
	}
	for i, spec := range specs {
		if _, err := ParseSkillRef(spec); err != nil {
			return at(fieldAt(field, i), err)
		}
		if slices.Contains(specs[:i], spec) {
			return Invalid(fieldAt(field, i), "%s is named twice", Clip(spec, 120))
		}
	}
	return nil
}

// at says which field an error is about.
func at(field string, err error) error { return Rename(err, func(string) string { return field }) }
