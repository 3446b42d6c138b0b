// Package runs has the commands that start, list, follow and steer runs: their log in a pipe
// and on a terminal, the screen that watches all of them, and what agents report from inside.
package runs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/find"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// Commands are those about runs.
type Commands struct{ find.Finder }

// All are the commands of this room.
func (sh Commands) All() []*cobra.Command {
	return []*cobra.Command{sh.runCommand(), sh.runsCommand(), sh.reportCommand()}
}

const runIDs = "a run id (`lineshaft runs list` shows them)"

func (sh Commands) runsCommand() *cobra.Command {
	of := shell.Noun[string]{
		Sh: sh.Shell, Word: "runs", Sample: "RUN_ID", Arg: "RUN_ID", Refs: runIDs, Open: shell.Finding(sh.Shell, shell.AsTyped),
	}
	return shell.Group(&cobra.Command{
		Use:     "runs",
		Aliases: []string{"tasks"},
		Short:   "List, read and steer runs",
	},
		sh.listCommand(), sh.watchCommand(), sh.logsCommand(), sh.followupCommand(), sh.rerunCommand(), sh.openCommand(), sh.cancelCommand(of),
		of.Get("Show one run in full", func(ctx context.Context, c *client.Client, id string) error {
			run, err := c.Runs.Get(ctx, id)
			if err != nil {
				return err
			}
			return sh.Show(run.RawJSON(), func() { sh.showRun(run) })
		}, "lineshaft runs get RUN_ID", "state, times, settings, prompt", "lineshaft runs get RUN_ID -o json", "everything the server knows"),
		of.Each("interrupt", "interrupted", "Stop what the agent is doing now; the run continues", "then send it a message with `runs followup`",
			func(ctx context.Context, c *client.Client, id string) error { return c.Runs.Interrupt(ctx, id) }),
		of.Each("delete", "deleted", "Delete ended runs and their logs for good", "cancel it first if it is still live",
			func(ctx context.Context, c *client.Client, id string) error { return c.Runs.Delete(ctx, id) }),
	)
}

// listFlags are the conditions of `runs list`.
type listFlags struct {
	query            client.RunQuery
	states, metadata []string
	factories        []string
	since            string
	all, oldestFirst bool
}

func (sh Commands) listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, the newest change first",
		Args:  shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(sh); err != nil {
				return err
			}
			return sh.list(cmd.Context(), f)
		},
	}
	f.filters(cmd)
	shell.PageFlags(cmd, "runs", &f.query.Limit, &f.query.Cursor, &f.all)
	return cmd
}

// filters are the flags that lists of runs have in common.
func (f *listFlags) filters(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.states, "state", nil, "only runs in this `STATE`; repeatable, or several with commas")
	flags.StringVar(&f.query.Name, "name", "", "only runs with this `NAME`")
	flags.StringVarP(&f.query.Query, "query", "q", "", "only runs with these `WORDS`")
	flags.StringVar(&f.since, "since", "", "only runs created since `TIME`, such as 24h or 2026-01-31")
	flags.StringArrayVar(&f.query.Sources, "source", nil, "only runs from this `SOURCE`, such as API or CLI; repeatable")
	flags.StringVar(&f.query.ModelID, "model", "", "only runs with this model `ID`")
	flags.StringVar(&f.query.WorkerHost, "host", "", "only runs for this worker `ID`")
	flags.StringVar(&f.query.EnvironmentID, "environment", "", "only runs in this environment `ID`")
	flags.StringVar(&f.query.Skill, "skill", "", "only runs of this `SKILL`")
	flags.StringVar(&f.query.Creator, "creator", "", "only runs of the creator with this `UID`")
	flags.StringVar(&f.query.ParentRunID, "parent", "", "only runs that the run with this `ID` started")
	flags.StringArrayVar(&f.factories, "factory", nil, "only runs of this `FACTORY`, by uid, alias or name; repeatable")
	flags.StringArrayVar(&f.metadata, "metadata", nil, "only runs with this `KEY=VALUE`; repeatable")
	flags.StringVar(&f.query.SortBy, "sort", "", "`ORDER`: updated_at, created_at, title or agent (default updated_at)")
	flags.BoolVar(&f.oldestFirst, "reverse", false, "reverse the order")
	shell.CompleteWords(cmd, "state", shell.StateWords()...)
	shell.CompleteWords(cmd, "sort", sorts()...)
}

func sorts() []string { return []string{"updated_at", "created_at", "title", "agent"} }

// complete checks the flags and makes the query of them.
func (f *listFlags) complete(sh Commands) error {
	states, err := shell.ParseStates(f.states)
	if err != nil {
		return err
	}
	f.query.States = states
	if f.query.SortBy != "" && !slices.Contains(sorts(), f.query.SortBy) {
		return shell.Usage(fmt.Sprintf("--sort %q is not one of %s", f.query.SortBy, strings.Join(sorts(), ", ")),
			"Leave it out for the newest change first.")
	}
	if f.query.Limit < 1 || f.query.Limit > 500 {
		return shell.Usage(fmt.Sprintf("--limit %d is not between 1 and 500", f.query.Limit), "Use --all for all runs.")
	}
	if f.oldestFirst {
		f.query.SortOrder = "asc"
	}
	for i, source := range f.query.Sources {
		f.query.Sources[i] = strings.ToUpper(source)
	}
	if f.query.Metadata, err = shell.ParsePairs("metadata", f.metadata); err != nil {
		return err
	}
	if f.since != "" {
		f.query.CreatedAfter, err = shell.ParseTime("since", f.since, sh.Now(), false)
	}
	return err
}

func (sh Commands) list(ctx context.Context, f listFlags) error {
	c, err := sh.Connect(ctx)
	if err != nil {
		return err
	}
	if f.query.FactoryUIDs, err = sh.FactoryUIDs(ctx, c, f.factories); err != nil {
		return err
	}
	page := &client.RunPage{}
	if f.all {
		f.query.Limit = 500
		page.Runs, err = shell.Collect(c.Runs.All(ctx, f.query))
	} else {
		page, err = c.Runs.List(ctx, f.query)
	}
	if err != nil {
		return err
	}
	if !sh.ForPeople() {
		raw := []json.RawMessage{}
		for _, run := range page.Runs {
			raw = append(raw, run.RawJSON())
		}
		return shell.Documents(sh.Shell, map[string]any{"runs": raw, "page_info": page.PageInfo}, raw)
	}
	return shell.Listing[client.Run]{
		None: `no runs; start one: lineshaft run "what the agent should do"`, Page: page.PageInfo,
		Head: []string{"RUN ID", "STATE", "UPDATED", "NAME", "TITLE"}, Row: sh.runRow,
	}.Show(sh.Shell, page.Runs, nil)
}

func (sh Commands) runRow(run *client.Run) []shell.Cell {
	name := ""
	if run.AgentConfig != nil {
		name = shell.Clip(shell.OneLine(run.AgentConfig.Name), 24)
	}
	return shell.Cells(run.RunID, shell.Styled(string(run.State), stateStyle(run.State)), sh.When(run.UpdatedAt), name, run.Title)
}

// showRun prints one run for a person.
func (sh Commands) showRun(run *client.Run) {
	list := [][2]string{
		{"Run", run.RunID},
		{"Title", run.Title},
		{"State", string(run.State)},
		{"Message", statusText(run.StatusMessage)},
		{"Source", run.Source},
		{"Creator", shell.Who(run.Creator)},
		{"Created", sh.When(run.CreatedAt)},
		{"Updated", sh.When(run.UpdatedAt)},
		{"Started", sh.WhenSet(run.StartedAt)},
		{"Finished", sh.WhenSet(run.FinishedAt)},
		{"Run time", run.RunTime},
	}
	list = append(list, shell.ConfigPairs(run.AgentConfig)...)
	list = append(list, [][2]string{
		{"Parent", run.ParentRunID},
		{"Factory", run.FactoryUID},
		{"Session", run.SessionLink},
		{"Conversation", run.ConversationID},
		{"Usage", usageText(run.RequestUsage)},
		{"Metadata", metadataText(run.Metadata)},
	}...)
	for _, a := range run.Artifacts {
		list = append(list, [2]string{"Artifact", artifactText(a)})
	}
	sh.Pairs(list, shell.Styled("State", stateStyle(run.State)))
	if run.Prompt != "" {
		fmt.Fprintf(sh.Out, "\n%s\n", strings.TrimRight(shell.Clean(run.Prompt), "\n"))
	}
}

func statusText(status *client.StatusMessage) string {
	if status == nil {
		return ""
	}
	text := shell.OneLine(status.Message)
	if status.ErrorCode != "" {
		text += " (" + shell.OneLine(status.ErrorCode) + ")"
	}
	return text
}

func usageText(u *client.Usage) string {
	if u == nil || u.TotalTokens == 0 && u.InferenceCostUSD == 0 {
		return ""
	}
	return fmt.Sprintf("%d tokens, $%.4f", u.TotalTokens, u.InferenceCostUSD)
}

func metadataText(metadata map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		pairs = append(pairs, shell.OneLine(key+"="+metadata[key]))
	}
	return strings.Join(pairs, ", ")
}

func artifactText(a client.Artifact) string {
	parts := []string{a.ArtifactType}
	for _, part := range []string{a.Data.FileName, a.Data.URL, a.Data.ArtifactUID} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return shell.OneLine(strings.Join(parts, " "))
}

func (sh Commands) cancelCommand(of shell.Noun[string]) *cobra.Command {
	var cascade bool
	cmd := of.Each("cancel", "cancelled", "Stop runs", "", func(ctx context.Context, c *client.Client, id string) error {
		if cascade {
			return c.Runs.CancelCascade(ctx, id)
		}
		return c.Runs.Cancel(ctx, id)
	})
	cmd.Example = shell.Example(
		"lineshaft runs cancel RUN_ID", "stop it now", "lineshaft runs cancel RUN_ID --cascade", "and all runs that it started",
	)
	cmd.Flags().BoolVar(&cascade, "cascade", false, "also stop the runs that it started")
	return cmd
}

func (sh Commands) followupCommand() *cobra.Command {
	var a Attend
	var files []string
	cmd := &cobra.Command{
		Use:   "followup RUN_ID MESSAGE",
		Short: "Send a message to a run, even to one that has ended",
		Args:  shell.Needs(1, 2, "a run id and a message in quotes"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && len(files) == 0 {
				return shell.Usage("a follow-up needs a message", `Run: lineshaft runs followup `+args[0]+` "what to do next"`)
			}
			if len(args) == 2 && !shell.LooksLikeUID(args[0]) && shell.LooksLikeUID(args[1]) {
				return shell.Usage("the run id comes before the message",
					fmt.Sprintf("Run: lineshaft runs followup %s %s", args[1], shell.ShellWord(args[0])))
			}
			attachments, err := shell.ReadAttachments(files)
			if err != nil {
				return err
			}
			req := client.FollowupRequest{Attachments: attachments}
			if len(args) == 2 {
				if req.Message, err = sh.TextOrStdin(args[1]); err != nil {
					return err
				}
			}
			return sh.followup(cmd.Context(), args[0], req, a)
		},
	}
	a.Flags(cmd)
	cmd.Flags().StringArrayVar(&files, "file", nil, "`FILE` to put into the workspace; repeatable, at most 5 files and 10 MB")
	return cmd
}

func (sh Commands) followup(ctx context.Context, runID string, req client.FollowupRequest, a Attend) error {
	c, err := sh.Connect(ctx)
	if err != nil {
		return err
	}
	var last int64
	if a.Follow {
		// What was before is not shown again.
		for event, err := range c.Runs.AllEvents(ctx, runID, client.EventQuery{Limit: 5000}) {
			if err != nil {
				return err
			}
			last = event.Sequence
		}
	}
	if sh.ForPeople() || a.Wait {
		if run, err := c.Runs.Get(ctx, runID); err == nil && run.State == client.StateBlocked { // else sending says what is wrong
			a.answered = run
		}
	}
	sent, err := c.Runs.Followup(ctx, runID, req)
	if err != nil {
		return err
	}
	staying := a.Wait || a.Follow
	switch {
	case sh.ForPeople():
		fmt.Fprintf(sh.Err, "-- %s\n", outcomeText(sent.Outcome, a.answered != nil))
	case !staying:
		if err := sh.Document(sent); err != nil {
			return err
		}
	}
	if staying {
		return sh.Stay(ctx, c, runID, last, a)
	}
	return nil
}

// outcomeText says how a follow-up reaches the agent; a run that was blocked waited for it.
func outcomeText(outcome string, blocked bool) string {
	if blocked && outcome == "live_session" {
		return "the run was blocked; this answers it"
	}
	switch outcome {
	case "queued_prompt":
		return "the run has not started yet; the message is part of its prompt now"
	case "live_session":
		return "the agent gets the message in its next turn"
	case "handoff_execution":
		return "the run had ended; it is queued again with the message"
	case "queue_pending":
		return "the message is stored for later"
	}
	return shell.OneLine(outcome)
}

func (sh Commands) rerunCommand() *cobra.Command {
	var a Attend
	cmd := &cobra.Command{
		Use:   "rerun RUN_ID",
		Short: "Start a new run with the settings of an old one",
		Args:  shell.Needs(1, 1, runIDs),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			started, err := c.Runs.Rerun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.Started(cmd.Context(), c, started, a)
		}),
	}
	a.Flags(cmd)
	return cmd
}

func (sh Commands) openCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "open RUN_ID",
		Short: "Open a run in the browser, or print its address if there is no terminal",
		Args:  shell.Needs(1, 1, runIDs),
		RunE: sh.WithClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			run, err := c.Runs.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.open(cmd.Context(), run)
		}),
	}
}

// pageOf is the page of a run. The address comes from the server and goes to a program,
// so only an ordinary web address is accepted.
func pageOf(run *client.Run) (*url.URL, error) {
	link, err := url.Parse(run.SessionLink)
	if run.SessionLink == "" || err != nil || link.Scheme != "http" && link.Scheme != "https" || strings.ContainsAny(run.SessionLink, " \t\r\n") {
		return nil, shell.Failure(err, "the run has no page to show", "`lineshaft runs get "+run.RunID+"` shows it here.")
	}
	return link, nil
}

// open shows the page of a run.
func (sh Commands) open(ctx context.Context, run *client.Run) error {
	link, err := pageOf(run)
	if err != nil {
		return err
	}
	if !sh.ForPeople() {
		return sh.Document(map[string]string{"session_link": link.String()})
	}
	fmt.Fprintln(sh.Out, link.String())
	if sh.OutWidth == 0 {
		return nil
	}
	if err := sh.Deps.OpenURL(ctx, link.String()); err != nil {
		return shell.Failure(err, "the browser could not be opened", "Open the address above yourself.")
	}
	return nil
}
