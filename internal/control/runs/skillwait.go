package runs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/skill"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

const (
	// skillTime is how long one reading of a repository may take.
	skillTime = 30 * time.Second
)

// SkillsWanted says when a run begins to wait for its skills.
func (s *Runs) SkillsWanted() <-chan struct{} { return s.Hub.Subscribe(stream.SkillsTopic).C }

// FindSkills looks for the skills of runs that wait for them. It returns how
// many runs wait no more; several nodes may do it at once.
func (s *Runs) FindSkills(ctx context.Context) (int, error) {
	done, last, seen := 0, store.WaitingRun{}, map[string]bool{}
	for {
		waiting, err := s.Store.ListSkillWaiting(ctx, last, base.SweepBatch)
		if err != nil {
			return done, err
		}
		n, err := s.findAll(ctx, waiting)
		done += n
		if err != nil {
			return done, err
		}
		for _, w := range waiting {
			seen[w.ID] = true
		}
		if len(waiting) < base.SweepBatch {
			s.skills.Reader.ForgetBlocked(seen)
			return done, nil
		}
		last = waiting[len(waiting)-1]
	}
}

// findAll looks for the skills of some runs, several at once: a forge that does not
// answer must not hold up the others.
func (s *Runs) findAll(ctx context.Context, waiting []store.WaitingRun) (done int, err error) {
	var mu sync.Mutex
	var group sync.WaitGroup
	slots := make(chan struct{}, skills.SkillsAtOnce)
	for _, w := range waiting {
		// Every new run wakes this job. Were all others read each time, a forge that is down
		// would make the thousandth run cost a thousand times the first.
		if s.skills.Reader.Blocked(w.ID, s.Store.Now()) {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			settled, oneErr := s.findFor(ctx, w.ID)
			mu.Lock()
			defer mu.Unlock()
			if oneErr != nil {
				err = errors.Join(err, fmt.Errorf("find skills of run %s: %w", w.ID, oneErr))
			}
			if settled {
				done++
			}
		})
	}
	group.Wait()
	return done, err
}

// findFor looks for the skills of one run, first at the forge and then, with the
// result, under the run's lock.
func (s *Runs) findFor(ctx context.Context, runID string) (settled bool, err error) {
	run, err := s.Store.GetRun(ctx, runID)
	if err != nil {
		return false, base.IgnoreNotFound(err)
	}
	body, err := s.Store.GetRunBody(ctx, runID)
	if err != nil {
		return false, base.IgnoreNotFound(err)
	}
	agent, err := s.Store.AgentName(ctx, runID)
	if err != nil {
		return false, err
	}
	scope := skills.SkillScope{Environment: body.Config.EnvironmentID, Factory: run.FactoryUID, Agent: agent}
	found, silent, trouble := s.readSkills(ctx, scope, body.Config.Skills)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if trouble != nil && !skills.Definite(trouble) {
		err := s.noteTrouble(ctx, run, trouble)
		if err == nil {
			s.skills.Reader.Block(runID, silent)
		}
		return false, err
	}
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		settled = false
		h, err := s.lockLife(ctx, tx, runID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if h.State != lineshaft.Queued || !h.Hold.Has(lineshaft.HoldSkill) {
			return nil
		}
		if body, err = tx.GetRunBody(ctx, runID); err != nil { // a follow-up may have come
			return err
		}
		fault, complete := trouble, false
		if fault == nil {
			complete, fault = s.skills.TakeSkills(ctx, tx, scope, body, found)
		}
		switch {
		case fault != nil && !skills.Definite(fault):
			return fault
		case fault != nil:
			settled = true
			return h.stop(ctx, lineshaft.Failed, skillFault(fault))
		case !complete:
			return nil // the repository of an environment was changed just now
		}
		settled = true
		h.release(lineshaft.HoldSkill)
		if err := tx.SetSkills(ctx, h.ID, body); err != nil {
			return err
		}
		return h.save(ctx)
	})
	return settled && err == nil, err
}

// readSkills reads the skills of a run from their repositories. It stops at the first error
// and returns it with its repository; a repository that did not answer lately is not asked.
func (s *Runs) readSkills(
	ctx context.Context, scope skills.SkillScope, specs []string,
) (found []lineshaft.Skill, about lineshaft.Repository, err error) {
	for _, spec := range specs {
		ref, err := lineshaft.ParseSkillRef(spec)
		if err != nil {
			return nil, about, err
		}
		if ref.Local() {
			continue
		}
		if ref.Ownerless() {
			if ref, err = skills.CompleteRef(ctx, s.Store, scope, ref); err != nil {
				return nil, about, err
			}
		}
		if !s.skills.Reader.MayTry(ref.Repository, s.Store.Now()) {
			return nil, ref.Repository, skills.Unanswered(ref.Repository, nil)
		}
		one, err := s.readSkillWithin(ctx, ref)
		if ctx.Err() != nil {
			return nil, about, ctx.Err()
		}
		s.skills.Reader.Tried(ref.Repository, err == nil || skills.Definite(err), s.Store.Now())
		if err != nil {
			return nil, ref.Repository, err
		}
		found = append(found, one)
	}
	return found, about, nil
}

func (s *Runs) readSkillWithin(ctx context.Context, ref lineshaft.SkillRef) (lineshaft.Skill, error) {
	ctx, cancel := context.WithTimeout(ctx, skillTime)
	defer cancel()
	return s.skills.ReadSkill(ctx, ref)
}

// noteTrouble says in the run's status that the forge is unreachable. That is not an
// error of the job: the run waits until its time in the queue is over.
func (s *Runs) noteTrouble(ctx context.Context, run *lineshaft.Run, trouble error) error {
	message := skills.WaitingForSkills(run.Config.Skills) + ": " + skills.PublicMessage(trouble)
	if run.Status.Message == message {
		return nil
	}
	s.Log.WarnContext(ctx, "skills wait for the forge", "run_id", run.ID, "err", trouble, "cause", errors.Unwrap(trouble))
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, run.ID)
		if err != nil {
			return base.IgnoreNotFound(err)
		}
		if h.State != lineshaft.Queued || !h.Hold.Has(lineshaft.HoldSkill) || h.Hold.Has(lineshaft.HoldConcurrency) {
			return nil
		}
		h.Status.Message = message
		tx.Wake(stream.RunTopic(h.ID))
		return tx.SaveRun(ctx, h)
	})
}

// skillFault is the end of a run whose skill does not exist. Should a follow-up reopen it,
// the skill is looked for again.
func skillFault(fault error) lineshaft.StatusMessage {
	retryable := false
	return lineshaft.StatusMessage{Message: skills.PublicMessage(fault), ErrorCode: lineshaft.CodeOf(fault), Retryable: &retryable}
}

// giveSkills adds to a job the skills that its prompt uses, and those that an agent
// finds in its workspace.
func (s *Runs) giveSkills(ctx context.Context, tx *store.Tx, claim *store.Claim, job *lineshaft.Job) error {
	job.Skills = claim.Body.Skills
	if err := skill.CheckSize(job.Config.BasePrompt, job.Skills, job.Turn.Message); err != nil && !claim.Head.PromptDone {
		job.Fault = skills.PublicMessage(err)
	}
	if claim.Head.FactoryUID == "" {
		return nil
	}
	all, err := tx.ListSkills(ctx, claim.Head.FactoryUID)
	if err != nil || len(all) == 0 {
		return err
	}
	agent := ""
	if slices.ContainsFunc(all, func(one lineshaft.Skill) bool { return one.Agent != "" }) {
		if agent, err = tx.AgentName(ctx, claim.Head.ID); err != nil {
			return err
		}
	}
	job.Prepare.Skills = skills.AgentSkills(all, agent)
	return nil
}
