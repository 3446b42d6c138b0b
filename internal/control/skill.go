package control

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
	"github.com/lineshaft/lineshaft/internal/skill"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// skillPatience is how long the request for a run waits for the forge; after that the
// run is queued and its skills are found in the background.
const skillPatience = 5 * time.Second

// skillPlaces is what skills are looked up in; met by the store and by a transaction.
type skillPlaces interface {
	GetFactory(ctx context.Context, uid string) (*lineshaft.Factory, error)
	GetEnvironment(ctx context.Context, uid string) (*lineshaft.Environment, error)
	ListSkills(ctx context.Context, factoryUID string) ([]lineshaft.Skill, error)
}

// findSkills reads the skills of a run that is to be made from their repositories,
// outside any transaction. Those that the forge does not answer about are left out,
// and so are those of the definition, which the transaction knows.
func (s *Service) findSkills(ctx context.Context, specs []string, scope skillScope) ([]lineshaft.Skill, error) {
	if len(specs) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, skillPatience)
	defer cancel()
	var found []lineshaft.Skill
	for i, spec := range specs {
		ref, err := fullRef(ctx, s.store, scope, spec)
		if err == nil && ref.Local() {
			continue
		}
		var one lineshaft.Skill
		if err == nil {
			one, err = s.readSkill(ctx, ref)
		}
		switch {
		case err == nil:
			found = append(found, one)
		case definite(err):
			return nil, blameField(err, fmt.Sprintf("config.skills[%d]", i))
		}
	}
	return found, nil
}

// checkSkills wants the skills that an agent names, and did not name before, to be there.
// A forge that does not answer now, or is yet to be named, is asked when a run needs them.
func (s *Service) checkSkills(ctx context.Context, a lineshaft.Agent, before []string) error {
	ctx, cancel := context.WithTimeout(ctx, skillPatience)
	defer cancel()
	scope := skillScope{environment: a.Config.EnvironmentID, factory: a.FactoryUID, agent: a.Name}
	for i, spec := range a.Config.Skills {
		if slices.Contains(before, spec) {
			continue
		}
		ref, err := fullRef(ctx, s.store, scope, spec)
		switch {
		case err != nil:
		case ref.Local():
			_, err = definitionSkill(ctx, s.store, scope, ref)
		case s.cfg.Git != nil:
			_, err = s.readSkill(ctx, ref)
		}
		if err != nil && definite(err) {
			return lineshaft.Invalid(fmt.Sprintf("config.skills[%d]", i), "%s", publicMessage(err))
		}
	}
	return nil
}

// fullRef reads a spec and adds the owner that it leaves out.
func fullRef(ctx context.Context, r skillPlaces, scope skillScope, spec string) (lineshaft.SkillRef, error) {
	ref, err := lineshaft.ParseSkillRef(spec)
	if err == nil && ref.Ownerless() {
		return completeRef(ctx, r, scope, ref)
	}
	return ref, err
}

// completeRef adds the owner to a reference that has none.
func completeRef(ctx context.Context, r skillPlaces, scope skillScope, ref lineshaft.SkillRef) (lineshaft.SkillRef, error) {
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

// settleSkills gives a new run its skills: those of the definition from the store,
// those of repositories as they were found before. A run with others waits for them.
func (s *Service) settleSkills(ctx context.Context, tx *store.Tx, n *store.NewRun) error {
	found := n.Body.Skills
	n.Body.Skills = nil
	if len(n.Body.Config.Skills) == 0 {
		return nil
	}
	scope := skillScope{environment: n.Body.Config.EnvironmentID, factory: n.Head.FactoryUID}
	if n.AgentUID != "" {
		agent, err := tx.GetAgent(ctx, n.AgentUID)
		if ignoreNotFound(err) != nil {
			return err
		}
		if err == nil {
			scope.agent = agent.Name
		}
	}
	complete, err := s.takeSkills(ctx, tx, scope, &n.Body, found)
	if err != nil || complete {
		return err
	}
	n.Head.Hold |= store.HoldSkill
	n.Head.Status.Message = waitingForSkills(n.Body.Config.Skills)
	tx.Wake(stream.SkillsTopic)
	return nil
}

// takeSkills writes the skills of a run into its body, and says whether all were there.
func (s *Service) takeSkills(ctx context.Context, r skillPlaces, scope skillScope, body *store.RunBody, found []lineshaft.Skill) (complete bool, err error) {
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
func (s *Service) takeSkill(ctx context.Context, r skillPlaces, scope skillScope, spec *string, found []lineshaft.Skill) (one lineshaft.Skill, ok bool, err error) {
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
		if ref, err = completeRef(ctx, r, scope, ref); err != nil {
			return one, false, err
		}
	}
	*spec = ref.String()
	if at := slices.IndexFunc(found, known); at >= 0 {
		return found[at], true, nil
	}
	if s.cfg.Git == nil {
		return one, false, noForge()
	}
	return one, false, nil
}

// definitionSkill finds a skill of a factory's definition: the agent's own first.
func definitionSkill(ctx context.Context, r skillPlaces, scope skillScope, ref lineshaft.SkillRef) (lineshaft.Skill, error) {
	if scope.factory == "" {
		return lineshaft.Skill{}, lineshaft.Invalid("", "%q is the name of a skill of a factory, and the run belongs to none; write owner/repo:%s", ref, ref)
	}
	all, err := r.ListSkills(ctx, scope.factory)
	if err != nil {
		return lineshaft.Skill{}, err
	}
	var names []string
	for _, one := range agentSkills(all, scope.agent) {
		if one.Name == ref.Target {
			one.Spec = ref.String()
			return one, nil
		}
		names = append(names, one.Name)
	}
	return lineshaft.Skill{}, skill.Missing(ref.Target, "the factory", names)
}

// agentSkills are the skills that an agent has: its own, and those for all whose
// names it has not.
func agentSkills(all []lineshaft.Skill, agent string) []lineshaft.Skill {
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

// publicMessage is what an error tells without its code and field.
func publicMessage(err error) string {
	if public, ok := errors.AsType[*lineshaft.Error](err); ok {
		return public.Message
	}
	return "internal error"
}

func waitingForSkills(specs []string) string {
	if len(specs) == 1 {
		return "waiting for its skill " + specs[0]
	}
	return "waiting for its skills " + strings.Join(specs, ", ")
}
