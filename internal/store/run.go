package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// RunHead is the life of a run, read under the run's row lock and written back by SaveRuns.
type RunHead struct {
	lineshaft.RunLife

	// was is the state, and ended the end, as it is stored.
	was   lineshaft.RunState
	ended time.Time
}

// RunBody is the part of a run that is written once.
type RunBody struct {
	Prompt string
	// Submitted is the prompt with the follow-ups that came before the start.
	Submitted string
	Config    lineshaft.AgentConfig
	Origins   map[string]string
	// Request is the configuration as it was asked for, so that the run can be run again.
	Request  lineshaft.AgentConfig
	Metadata map[string]string
	// Files is how many attachments came with the prompt.
	Files int
	// Skills are those of Config.Skills as they were found.
	Skills []lineshaft.Skill
	// FiredBy is the schedule that started the run, if one did.
	FiredBy *lineshaft.FiredBy
	// Continues is the run whose conversation and workspace this one continues.
	Continues string
}

// NewRun is a run to be inserted.
type NewRun struct {
	Head           RunHead
	Body           RunBody
	Title          string
	Source         lineshaft.Source
	ConversationID string
	SessionID      string
	RootRunID      string
	// ParentBudget is that of the parent, which the run shares with it.
	ParentBudget lineshaft.Budget
	Depth        int
	ScheduleID   string
	AgentUID     string
	// RerunOf is the first run with the same request, and Attempt which of them this is.
	RerunOf   string
	Attempt   int
	CreatedAt time.Time
	// TraceParent is the W3C traceparent that all that follows continues.
	TraceParent string
	// Ancestors are the runs above this one, nearest first.
	Ancestors []string
	// Outside says that strangers may have written a part of the conversation that it
	// continues.
	Outside bool
	// Events are the first of its log.
	Events []lineshaft.Draft
}

// InsertRun writes a new run with its first events.
func (tx *Tx) InsertRun(ctx context.Context, n *NewRun, events []lineshaft.Draft) error {
	n.Events = events
	return tx.InsertRuns(ctx, []*NewRun{n})
}

const (
	newRunColumns = `id, title, state, status_message, error_code, retryable, source, creator_uid,
		name, model_id, environment_id, skill_spec, schedule_id, factory_uid, worker_host, parent_run_id, root_run_id, depth,
		conversation_id, session_id, created_at, updated_at, started_at, finished_at, run_time, input_tokens, output_tokens,
		cost_micros, last_sequence, queued_at, queue_deadline, hold, concurrency_key, execution_id, worker_id, executions, attempts,
		max_attempts, prompt_done, unread, taken, sandbox_running, tagged, agent_uid, trace_parent, rerun_of, attempt`
	bodyColumns = "run_id, prompt, submitted_prompt, config, origins, request, metadata, files, skills, fired_by, continues"
)

// InsertRuns writes new runs with their first events, in few statements.
func (tx *Tx) InsertRuns(ctx context.Context, runs []*NewRun) error {
	rows, bodies := inserts{into: "runs (" + newRunColumns + ")"}, inserts{into: "run_bodies (" + bodyColumns + ")"}
	tags := inserts{into: "run_tags (tag, run_id, updated_at)"}
	events := make([]runEvents, len(runs))
	for i, n := range runs {
		n.row(&rows)
		if err := n.Body.row(&bodies, n.Head.ID); err != nil {
			return err
		}
		for _, ancestor := range n.Ancestors { // the other tags are for lists alone: see settleTags
			tags.row(ancestorTag(ancestor), n.Head.ID, micros(n.Head.UpdatedAt))
		}
		events[i] = runEvents{runID: n.Head.ID, first: 1, drafts: n.Events}
	}
	for _, table := range []*inserts{&rows, &bodies, &tags} {
		if err := tx.sendRows(ctx, table); err != nil {
			return err
		}
	}
	return tx.insertEvents(ctx, events)
}

// row adds the run's own row.
func (n *NewRun) row(v *inserts) {
	h := &n.Head
	h.was, h.ended, h.LastSequence = h.State, h.FinishedAt, int64(len(n.Events))
	v.row(h.ID, n.Title, h.State, h.Status.Message, h.Status.ErrorCode, nullBool(h.Status.Retryable), n.Source, h.CreatorUID,
		null(n.Body.Config.Name), null(n.Body.Config.Model()), null(n.Body.Config.EnvironmentID), null(n.Body.firstSkill()), null(n.ScheduleID),
		null(h.FactoryUID), h.WorkerHost, null(h.ParentRunID), n.RootRunID, n.Depth, n.ConversationID, n.SessionID,
		micros(n.CreatedAt), micros(h.UpdatedAt), 0, micros(h.FinishedAt), 0, 0, 0, 0, h.LastSequence, micros(h.QueuedAt), micros(h.QueueDeadline),
		h.Hold, null(h.ConcurrencyKey), "", "", 0, 0, h.MaxAttempts, 0, 0, 0, 0, 1, null(n.AgentUID), n.TraceParent, null(n.RerunOf), max(n.Attempt, 1))
}

// firstSkill is the one that lists show and sort by.
func (b *RunBody) firstSkill() string {
	if len(b.Config.Skills) == 0 {
		return ""
	}
	return b.Config.Skills[0]
}

func (b *RunBody) row(v *inserts, runID string) error {
	parts := make([]string, 4)
	for i, part := range []any{b.Config, b.Origins, b.Request, b.Metadata} {
		text, err := json.Marshal(part)
		if err != nil {
			return fmt.Errorf("encode run: %w", err)
		}
		parts[i] = string(text)
	}
	var skills, firedBy string
	var err error
	if len(b.Skills) > 0 { // most runs have none: they are spared an encoder
		skills, err = encode(b.Skills)
	}
	if b.FiredBy != nil && err == nil {
		firedBy, err = encode(b.FiredBy)
	}
	v.row(runID, b.Prompt, b.Submitted, parts[0], parts[1], parts[2], parts[3], b.Files, skills, firedBy, b.Continues)
	return err
}

// decodeParts reads what few runs have.
func decodeParts(runID, skills, firedBy string, intoSkills *[]lineshaft.Skill, intoFired **lineshaft.FiredBy) error {
	if skills != "" {
		if err := json.Unmarshal([]byte(skills), intoSkills); err != nil {
			return fmt.Errorf("decode skills of run %s: %w", runID, err)
		}
	}
	if firedBy != "" {
		if err := json.Unmarshal([]byte(firedBy), intoFired); err != nil {
			return fmt.Errorf("decode schedule of run %s: %w", runID, err)
		}
	}
	return nil
}

// AppendPrompt adds a follow-up's text to the prompt of a run that has not started.
func (tx *Tx) AppendPrompt(ctx context.Context, runID, text string) (fits bool, err error) {
	// A run of a skill may have had no prompt before.
	n, err := tx.exec(ctx, `UPDATE run_bodies SET submitted_prompt = CASE WHEN submitted_prompt = '' THEN $2 ELSE submitted_prompt || $3 END
		WHERE run_id = $1 AND octet_length(submitted_prompt) <= $4`, runID, text, "\n\n"+text, lineshaft.MaxSubmittedBytes-len(text)-2)
	return n == 1, err
}

const headColumns = `id, state, status_message, error_code, retryable, worker_host, creator_uid, factory_uid, parent_run_id, updated_at,
	started_at, finished_at, run_time, input_tokens, output_tokens, cost_micros, last_sequence, queued_at, queue_deadline, hold,
	concurrency_key, execution_id, worker_id, executions, attempts, max_attempts, prompt_done, unread, taken, sandbox_running, interrupted`

func scanHead(scan func(...any) error, extra ...any) (*RunHead, error) {
	var h RunHead
	var retry *int64
	var factory, parent, key *string
	var updated, started, finished, runTime, queued, deadline int64
	var promptDone, taken, sandbox, interrupted int
	dest := append([]any{
		&h.ID, &h.State, &h.Status.Message, &h.Status.ErrorCode, &retry, &h.WorkerHost, &h.CreatorUID, &factory, &parent,
		&updated, &started, &finished, &runTime, &h.Usage.InputTokens, &h.Usage.OutputTokens, &h.Usage.CostMicros, &h.LastSequence, &queued,
		&deadline, &h.Hold, &key, &h.ExecutionID, &h.WorkerID, &h.Executions, &h.Attempts, &h.MaxAttempts, &promptDone, &h.Unread, &taken,
		&sandbox, &interrupted,
	}, extra...)
	if err := scan(dest...); err != nil {
		return nil, fmt.Errorf("scan run: %w", err)
	}
	h.Status.Retryable = boolOf(retry)
	h.FactoryUID, h.ParentRunID, h.ConcurrencyKey = text(factory), text(parent), text(key)
	h.UpdatedAt, h.StartedAt, h.FinishedAt = fromMicros(updated), fromMicros(started), fromMicros(finished)
	h.QueuedAt, h.QueueDeadline, h.RunTime = fromMicros(queued), fromMicros(deadline), time.Duration(runTime)*time.Microsecond
	h.PromptDone, h.Taken, h.SandboxRunning = promptDone == 1, taken == 1, sandbox == 1
	h.Interrupted = wasInterrupted(interrupted, h.Status.Message)
	h.was, h.ended = h.State, h.FinishedAt
	return &h, nil
}

// wasInterrupted says whether a turn was interrupted. Nodes of the previous version do not
// know this column: they write the status alone, and leave the column when they replace the
// status (D-3). So the status decides while such a node may be running, which is this version.
func wasInterrupted(_ int, status string) bool { return status == lineshaft.StatusInterrupted }

// LockRun reads a run's head and holds its row until the transaction ends.
func (tx *Tx) LockRun(ctx context.Context, runID string) (*RunHead, error) {
	heads, err := tx.LockRuns(ctx, []string{runID})
	if err != nil {
		return nil, err
	}
	if len(heads) == 0 {
		return nil, lineshaft.NotFound("run", runID)
	}
	return heads[0], nil
}

// LockRuns locks several runs in the order of their ids, which keeps two
// transactions from waiting for each other. Missing runs are left out.
func (tx *Tx) LockRuns(ctx context.Context, ids []string) ([]*RunHead, error) {
	var args []any
	query := "SELECT " + headColumns + " FROM runs WHERE id IN " + list(&args, ids) + " ORDER BY id" + tx.d.forUpdate
	var heads []*RunHead
	err := tx.each(ctx, query, args, func(scan rowScan) error {
		h, err := scanHead(scan)
		heads = append(heads, h)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lock runs: %w", err)
	}
	return heads, nil
}

// saveForms are the columns of SaveRuns' VALUES list: PostgreSQL cannot guess them.
var saveForms = casts(
	"TEXT", "TEXT", "TEXT", "TEXT", "TEXT", "SMALLINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT", "BIGINT",
	"BIGINT", "BIGINT", "BIGINT", "SMALLINT", "TEXT", "TEXT", "INTEGER", "INTEGER", "SMALLINT", "INTEGER", "SMALLINT", "SMALLINT", "SMALLINT",
)

// SaveRuns writes heads back with new events for each (events[i] belongs to
// heads[i]) in as few statements as there are tables. The UPDATE names the state
// that each run leaves.
func (tx *Tx) SaveRuns(ctx context.Context, heads []*RunHead, events [][]lineshaft.Draft) error {
	v := inserts{forms: saveForms}
	var batches []runEvents
	end := "" // SQLite writes every index of a column that is set, even to the same value
	for i, h := range heads {
		if !h.FinishedAt.Equal(h.ended) {
			end = " finished_at = v.finished_at,"
		}
		batches = append(batches, runEvents{runID: h.ID, executionID: h.ExecutionID, first: h.LastSequence + 1, drafts: events[i]})
		h.LastSequence += int64(len(events[i]))
		v.row(h.ID, h.was, h.State, h.Status.Message, h.Status.ErrorCode, nullBool(h.Status.Retryable),
			micros(h.UpdatedAt), micros(h.StartedAt), micros(h.FinishedAt), h.RunTime.Microseconds(), h.Usage.InputTokens, h.Usage.OutputTokens,
			h.Usage.CostMicros, h.LastSequence, micros(h.QueuedAt), micros(h.QueueDeadline), h.Hold, h.ExecutionID, h.WorkerID, h.Executions, h.Attempts,
			flag(h.PromptDone), h.Unread, flag(h.Taken), flag(h.SandboxRunning), flag(h.Interrupted))
	}
	if err := tx.insertEvents(ctx, batches); err != nil {
		return err
	}
	text, args := v.padded(tx.d)
	err := tx.sendFor(ctx, len(heads), "save runs", `WITH v (id, was, state, status_message, error_code, retryable, updated_at, started_at, finished_at, run_time,
		input_tokens, output_tokens, cost_micros, last_sequence, queued_at, queue_deadline, hold, execution_id, worker_id, executions, attempts,
		prompt_done, unread, taken, sandbox_running, interrupted) AS (VALUES `+text+`)
		UPDATE runs SET state = v.state, status_message = v.status_message, error_code = v.error_code, retryable = v.retryable,
		updated_at = v.updated_at, started_at = v.started_at,`+end+` run_time = v.run_time,
		input_tokens = v.input_tokens, output_tokens = v.output_tokens, cost_micros = v.cost_micros, last_sequence = v.last_sequence,
		queued_at = v.queued_at, queue_deadline = v.queue_deadline, hold = v.hold, execution_id = v.execution_id, worker_id = v.worker_id,
		executions = v.executions, attempts = v.attempts, prompt_done = v.prompt_done, unread = v.unread, taken = v.taken,
		sandbox_running = v.sandbox_running, interrupted = v.interrupted
		FROM v WHERE runs.id = v.id AND runs.state = v.was`, args...)
	if err != nil {
		return err
	}
	for _, h := range heads {
		h.was, h.ended = h.State, h.FinishedAt
	}
	return nil
}

// SaveRun is SaveRuns for one.
func (tx *Tx) SaveRun(ctx context.Context, h *RunHead, events ...lineshaft.Draft) error {
	return tx.SaveRuns(ctx, []*RunHead{h}, [][]lineshaft.Draft{events})
}

const runColumns = `r.id, r.title, r.state, r.status_message, r.error_code, r.retryable, r.source, r.creator_uid, p.type, p.display_name, p.email,
	r.conversation_id, r.session_id, r.parent_run_id, r.root_run_id, r.depth, r.factory_uid, r.schedule_id, r.created_at, r.updated_at,
	r.started_at, r.finished_at, r.run_time, r.input_tokens, r.output_tokens, r.cost_micros, r.execution_id, r.executions,
	r.sandbox_running, r.interrupted, r.last_sequence, b.metadata, r.worker_host, r.agent_uid, e.display_name, b.fired_by, r.trace_parent, r.rerun_of, r.attempt, b.continues`

const runTables = ` FROM runs r JOIN run_bodies b ON b.run_id = r.id LEFT JOIN principals p ON p.uid = r.creator_uid
	LEFT JOIN principals e ON e.uid = r.agent_uid `

func scanRun(scan func(...any) error, how int) (*lineshaft.Run, error) {
	var r lineshaft.Run
	var retry *int64
	var ptype, pname, pmail, parent, factory, schedule, agent, agentName, rerunOf *string
	var created, updated, started, finished, runTime int64
	var sandbox, interrupted int
	var config, metadata, host, skills, firedBy string
	if err := scan(&r.ID, &r.Title, &r.State, &r.Status.Message, &r.Status.ErrorCode, &retry, &r.Source, &r.Creator.UID, &ptype, &pname, &pmail,
		&r.ConversationID, &r.SessionID, &parent, &r.RootRunID, &r.Depth, &factory, &schedule, &created, &updated, &started, &finished,
		&runTime, &r.Usage.InputTokens, &r.Usage.OutputTokens, &r.Usage.CostMicros, &r.ExecutionID, &r.Executions, &sandbox, &interrupted, &r.LastSequence,
		&metadata, &host, &agent, &agentName, &firedBy, &r.TraceParent, &rerunOf, &r.Attempt, &r.Continues, &r.Prompt, &r.Submitted, &config, &skills); err != nil {
		return nil, fmt.Errorf("scan run: %w", err)
	}
	r.Status.Retryable = boolOf(retry)
	r.Creator.Type, r.Creator.DisplayName, r.Creator.Email = lineshaft.PrincipalType(text(ptype)), text(pname), text(pmail)
	r.Executor, r.AgentUID = r.Creator, text(agent)
	if r.AgentUID != "" {
		r.Executor = lineshaft.Principal{UID: r.AgentUID, Type: lineshaft.ServiceAccount, DisplayName: text(agentName)}
	}
	r.ParentRunID, r.FactoryUID, r.ScheduleID, r.RerunOf = text(parent), text(factory), text(schedule), text(rerunOf)
	r.CreatedAt, r.UpdatedAt, r.StartedAt, r.FinishedAt = fromMicros(created), fromMicros(updated), fromMicros(started), fromMicros(finished)
	r.RunTime, r.SandboxRunning, r.Interrupted = time.Duration(runTime)*time.Microsecond, sandbox == 1, wasInterrupted(interrupted, r.Status.Message)
	if err := json.Unmarshal([]byte(config), &r.Config); err != nil {
		return nil, fmt.Errorf("decode config of run %s: %w", r.ID, err)
	}
	if err := json.Unmarshal([]byte(metadata), &r.Metadata); err != nil {
		return nil, fmt.Errorf("decode metadata of run %s: %w", r.ID, err)
	}
	r.Config.WorkerHost = host
	if err := decodeParts(r.ID, skills, firedBy, &r.Skills, &r.FiredBy); err != nil {
		return nil, err
	}
	if how != runWhole {
		r.Truncated = how == runBare
		shorten(&r)
	}
	return &r, nil
}

// GetRun reads a run in full, with its artifacts.
func (r reader) GetRun(ctx context.Context, runID string) (*lineshaft.Run, error) {
	runs, err := r.runsByID(ctx, []string{runID}, runWhole)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, lineshaft.NotFound("run", runID)
	}
	return runs[runID], nil
}

// NewestOf reads the newest runs of each creator, at most so many of each, the newest first.
func (s *Store) NewestOf(ctx context.Context, creators []string, each int) (map[string][]RunBrief, error) {
	found, err := s.findEach(ctx, RunScan{Sort: lineshaft.SortCreated, Limit: each}, creators, func(creator string) lineshaft.RunFilter {
		return lineshaft.RunFilter{Creator: creator}
	})
	if err != nil {
		return nil, fmt.Errorf("find newest runs: %w", err)
	}
	var ids []string
	creatorOf := map[string]string{}
	for creator, theirs := range found {
		slices.SortFunc(theirs, func(a, b string) int { return strings.Compare(b, a) })
		for _, id := range theirs[:min(each, len(theirs))] {
			ids, creatorOf[id] = append(ids, id), creator
		}
	}
	newest := map[string][]RunBrief{}
	var args []any
	if len(ids) == 0 {
		return newest, nil
	}
	runs, err := s.briefs(ctx, []string{"id IN " + list(&args, ids)}, args, "id DESC", len(ids))
	for _, run := range runs {
		newest[creatorOf[run.ID]] = append(newest[creatorOf[run.ID]], run)
	}
	return newest, err
}

// RunsByID reads those of the runs that there are, as lists show them.
func (r reader) RunsByID(ctx context.Context, ids []string) (map[string]*lineshaft.Run, error) {
	runs, _, err := r.listRuns(ctx, ids, false, true)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*lineshaft.Run, len(runs))
	for _, run := range runs {
		byID[run.ID] = run
	}
	return byID, nil
}

// runsByID reads runs with their artifacts.
func (r reader) runsByID(ctx context.Context, ids []string, how int) (map[string]*lineshaft.Run, error) {
	runs := map[string]*lineshaft.Run{}
	if len(ids) == 0 {
		return runs, nil
	}
	var args []any
	query := r.d.selectRun(how) + "WHERE r.id IN " + list(&args, ids)
	err := r.each(ctx, query, args, func(scan rowScan) error {
		run, err := scanRun(scan, how)
		if err == nil {
			runs[run.ID] = run
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	most := listedArtifacts
	if how == runWhole {
		most = shownArtifacts
	}
	artifacts, err := r.artifactsOf(ctx, ids, most)
	if err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		if run := runs[a.RunID]; run != nil {
			run.Artifacts = append(run.Artifacts, a)
		}
	}
	return runs, nil
}

// GetRunBody reads what was written once.
func (r reader) GetRunBody(ctx context.Context, runID string) (*RunBody, error) {
	var b RunBody
	var skills, firedBy string
	err := r.must(ctx, "run", runID, "SELECT prompt, submitted_prompt, config, origins, request, metadata, skills, fired_by, continues FROM run_bodies WHERE run_id = $1", []any{runID},
		&b.Prompt, &b.Submitted, toJSON(&b.Config), toJSON(&b.Origins), toJSON(&b.Request), toJSON(&b.Metadata), &skills, &firedBy, &b.Continues)
	if err != nil {
		return nil, err
	}
	return &b, decodeParts(runID, skills, firedBy, &b.Skills, &b.FiredBy)
}

func nullBool(b *bool) any {
	if b == nil {
		return nil
	}
	return flag(*b)
}

func boolOf(n *int64) *bool {
	if n == nil {
		return nil
	}
	b := *n == 1
	return &b
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
