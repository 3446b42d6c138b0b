package worker

import (
	"path"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/skill"
)

// skillsDir is where agents look for skills, below the workspace.
const skillsDir = ".agents/skills"

// placeSkills puts the skills of the factory's definition where agents look for them.
// A workspace that was kept or restored has them, as the agent left them. Trouble is
// told in the log and does not keep the agent from working.
func (e *execution) placeSkills() {
	if e.workspace.Kept() {
		return
	}
	for _, s := range e.job.Prepare.Skills {
		if err := e.placeSkill(s); err != nil {
			e.warn(e.work, "place skill", err)
			e.notice("warning", "The skill "+s.Name+" could not be put into the workspace.")
		}
	}
}

func (e *execution) placeSkill(s lineshaft.Skill) error {
	text, err := skill.Render(s)
	if err != nil {
		return err
	}
	return e.workspace.PlaceNew(e.work, path.Join(skillsDir, s.Name, lineshaft.SkillFile), strings.NewReader(text), 2*lineshaft.MaxSkillBytes)
}
