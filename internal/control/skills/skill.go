package skills

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/skill"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// skillPatience is how long the request for a run waits for the forge; after that the
// run is queued and its skills are found in the background.
const skillPatience = 5 * time.Second

// skillPlaces is where skills are looked up: the store or a transaction.
type skillPlaces interface {
	GetFactory(ctx context.Context, uid string) (*lineshaft.Factory, error)
	GetEnvironment(ctx context.Context, uid string) (*lineshaft.Environment, error)
	ListSkills(ctx context.Context, factoryUID string) ([]lineshaft.Skill, error)
}

// LookUpSkills reads the skills of a new run from their repositories, outside any
// transaction. It leaves out those that the forge does not answer about, and those of
// the definition, which the transaction knows.
func (s *Skills) LookUpSkills(ctx context.Context, specs []string, scope SkillScope) ([]lineshaft.Skill, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, skillPatience)
	defer cancel()
	var found []lineshaft.Skill
	for i, spec := range specs {
		ref, err := fullRef(ctx, s.Store, scope, spec)
		if err == nil && ref.Local() {
			continue
		}
		var one lineshaft.Skill
		if err == nil {
			one, err = s.ReadSkill(ctx, ref)
		}
		switch {
		case err == nil:
			found = append(found, one)
		case Definite(err):
			return nil, blameField(err, fmt.Sprintf("config.skills[%d]", i))
		}
	}
	return found, nil
}

// CheckSkills requires the skills that an agent names, and did not name before, to exist.
// A forge that does not answer now, or is yet to be named, is asked when a run needs them.
func (s *Skills) CheckSkills(ctx context.Context, a lineshaft.Agent, before []string) error {
	ctx, cancel := context.WithTimeout(ctx, skillPatience)
	defer cancel()
	scope := SkillScope{Environment: a.Config.EnvironmentID, Factory: a.FactoryUID, Agent: a.Name}
	for i, spec := range a.Config.Skills {
		if slices.Contains(before, spec) {
			continue
		}
		ref, err := fullRef(ctx, s.Store, scope, spec)
		switch {
		case err != nil:
		case ref.Local():
			_, err = definitionSkill(ctx, s.Store, scope, ref)
		case s.Cfg.Git != nil:
			_, err = s.ReadSkill(ctx, ref)
		}
		if err != nil && Definite(err) {
			return lineshaft.Invalid(fmt.Sprintf("config.skills[%d]", i), "%s", PublicMessage(err))
		}
	}
	return nil
}

// fullRef reads a spec and adds the owner that it leaves out.
func fullRef(ctx context.Context, r skillPlaces, scope SkillScope, spec string) (lineshaft.SkillRef, error) {
	ref, err := lineshaft.ParseSkillRef(spec)
	if err == nil && ref.Ownerless() {
		return CompleteRef(ctx, r, scope, ref)
	}
	return ref, err
}

// CompleteRef adds the owner to a reference that has none.
func CompleteRef(ctx context.Context, r skillPlaces, scope SkillScope, ref lineshaft.SkillRef) (lineshaft.SkillRef, error) {
	known, err := scopeRepositories(ctx, r, scope)
	if err != nil {
		return ref, err
	}
	var fitting []lineshaft.Repository
	for _, candidate := range known {
		if strings.EqualFold(path.Base(candidate.Name), ref.Repository.Name) && !slices.Contains(fitting, candidate) {
			fitting = append(fitting, candidate)
		}
	}
	if len(fitting) != 1 {
		return ref, lineshaft.Invalid("", "the environment and factory of the run have %d repositories named %q; write owner/%s", len(fitting), ref.Repository.Name, ref)
	}
	ref.Repository = fitting[0]
	return ref, nil
}

// SettleSkills gives a new run its skills: those of the definition from the store,
// those of repositories as they were found before. A run with others waits for them.
func (s *Skills) SettleSkills(ctx context.Context, tx *store.Tx, n *store.NewRun) error {
	found := n.Body.Skills
	n.Body.Skills = nil
	if len(n.Body.Config.Skills) == 0 {
		return nil
	}
	scope := SkillScope{Environment: n.Body.Config.EnvironmentID, Factory: n.Head.FactoryUID}
	if n.AgentUID != "" {
		agent, err := tx.GetAgent(ctx, n.AgentUID)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			scope.Agent = agent.Name
		}
	}
	complete, err := s.TakeSkills(ctx, tx, scope, &n.Body, found)
	if err != nil || complete {
		return err
	}
	n.Head.Hold |= lineshaft.HoldSkill
	n.Head.Status.Message = WaitingForSkills(n.Body.Config.Skills)
	tx.Wake(stream.SkillsTopic)
	return nil
}

// TakeSkills writes the skills of a run into its body, and says whether all were there.
func (s *Skills) TakeSkills(ctx context.Context, r skillPlaces, scope SkillScope, body *store.RunBody, found []lineshaft.Skill) (complete bool, err error) {
	specs := slices.Clone(body.Config.Skills)
	var skills []lineshaft.Skill
	for i := range specs {
		one, ok, err := s.takeSkill(ctx, r, scope, &specs[i], found)
		if err != nil {
			return false, blameField(err, fmt.Sprintf("config.skills[%d]", i))
		}
		if ok {
			skills = append(skills, one)
		}
	}
	body.Config.Skills = specs
	if len(skills) < len(specs) {
		return false, nil
	}
	body.Skills = skills
	if body.Config.Name == "" {
		body.Config.Name = skills[0].Name
		body.Origins = maps.Clone(body.Origins) // the automation's runs share them
		if body.Origins == nil {
			body.Origins = map[string]string{}
		}
		body.Origins["name"] = skillOrigin
	}
	return true, skill.CheckSize(body.Config.BasePrompt, skills, body.Submitted)
}

// skillOrigin is where a name comes from that nobody gave.
const skillOrigin = "skill"

// takeSkill looks for one skill, and writes its spec in full.
func (s *Skills) takeSkill(ctx context.Context, r skillPlaces, scope SkillScope, spec *string, found []lineshaft.Skill) (one lineshaft.Skill, ok bool, err error) {
	known := func(f lineshaft.Skill) bool { return f.Spec == *spec }
	if at := slices.IndexFunc(found, known); at >= 0 {
		return found[at], true, nil
	}
	ref, err := lineshaft.ParseSkillRef(*spec)
	if err != nil {
		return one, false, err
	}
	if ref.Local() {
		one, err = definitionSkill(ctx, r, scope, ref)
		return one, err == nil, err
	}
	if ref.Ownerless() {
		if ref, err = CompleteRef(ctx, r, scope, ref); err != nil {
			return one, false, err
		}
	}
	*spec = ref.String()
	if at := slices.IndexFunc(found, known); at >= 0 {
		return found[at], true, nil
	}
	if s.Cfg.Git == nil {
		return one, false, noForge()
	}
	return one, false, nil
}

// definitionSkill finds a skill of a factory's definition: the agent's own first.
func definitionSkill(ctx context.Context, r skillPlaces, scope SkillScope, ref lineshaft.SkillRef) (lineshaft.Skill, error) {
	if scope.Factory == "" {
		return lineshaft.Skill{}, lineshaft.Invalid("", "%q would be a skill of the run's factory, but the run has none; write owner/repo:%s", ref, ref)
	}
	all, err := r.ListSkills(ctx, scope.Factory)
	if err != nil {
		return lineshaft.Skill{}, err
	}
	var names []string
	for _, one := range AgentSkills(all, scope.Agent) {
		if one.Name == ref.Target {
			one.Spec = ref.String()
			return one, nil
		}
		names = append(names, one.Name)
	}
	return lineshaft.Skill{}, skill.Missing(ref.Target, "the factory", names)
}

// AgentSkills are the skills that an agent has: its own, and those for all whose
// names it has not.
func AgentSkills(all []lineshaft.Skill, agent string) []lineshaft.Skill {
	var own, shared []lineshaft.Skill
	for _, one := range all {
		switch one.Agent {
		case "":
			shared = append(shared, one)
		case agent:
			own = append(own, one)
		}
	}
	for _, one := range shared {
		if !slices.ContainsFunc(own, func(o lineshaft.Skill) bool { return o.Name == one.Name }) {
			own = append(own, one)
		}
	}
	return own
}

// PublicMessage is the text of an error without its code and field.
func PublicMessage(err error) string {
	if public, ok := errors.AsType[*lineshaft.Error](err); ok {
		return public.Message
	}
	return "internal error"
}

// WaitingForSkills is the status of a run whose skills are not found yet.
func WaitingForSkills(specs []string) string {
	if len(specs) == 1 {
		return "waiting for its skill " + specs[0]
	}
	return "waiting for its skills " + strings.Join(specs, ", ")
}
