package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// listFlags are the conditions of `runs list`.
type listFlags struct {
	query            client.RunQuery
	states, metadata []string
	factories        []string
	since            string
	all, oldestFirst bool
}

func (sh *shell) listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List runs, the newest change first",
		Args:  needs(0, 0, ""),
		Example: example(
			"lineshaft runs list --state failed --since 24h", "what went wrong today",
			"lineshaft runs list --name audit --all -o ndjson", "all of them, a line of JSON each",
			`lineshaft runs list --query "flaky test"`, "look for words",
		),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.complete(sh); err != nil {
				return err
			}
			return sh.list(cmd.Context(), f)
		},
	}
	f.filters(cmd)
	flags := cmd.Flags()
	flags.IntVar(&f.query.Limit, "limit", 20, "`NUMBER` of runs, 1 to 500")
	flags.StringVar(&f.query.Cursor, "cursor", "", "go on after an earlier list, at its `CURSOR`")
	flags.BoolVar(&f.all, "all", false, "all runs, not only the first ones")
	return cmd
}

// filters are the flags that lists of runs have in common.
func (f *listFlags) filters(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.states, "state", nil, "only runs in this `STATE`; repeatable, or several with commas")
	flags.StringVar(&f.query.Name, "name", "", "only runs with this `NAME`")
	flags.StringVarP(&f.query.Query, "query", "q", "", "only runs with these `WORDS`")
	flags.StringVar(&f.since, "since", "", "only runs created since `THEN`, such as 24h or 2026-01-31")
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
	flags.BoolVar(&f.oldestFirst, "reverse", false, "turn the order around")
	var states []string
	for _, s := range client.RunStates() {
		states = append(states, strings.ToLower(string(s)))
	}
	completeWords(cmd, "state", states...)
	completeWords(cmd, "sort", sorts()...)
}

func sorts() []string { return []string{"updated_at", "created_at", "title", "agent"} }

// complete checks the flags and makes the query of them.
func (f *listFlags) complete(sh *shell) error {
	states, err := parseStates(f.states)
	if err != nil {
		return err
	}
	f.query.States = states
	if f.query.SortBy != "" && !slices.Contains(sorts(), f.query.SortBy) {
		return usage(fmt.Sprintf("--sort %q is none of %s", f.query.SortBy, strings.Join(sorts(), ", ")), "Leave it out for the newest change first.")
	}
	if f.query.Limit < 1 || f.query.Limit > 500 {
		return usage(fmt.Sprintf("--limit %d is not between 1 and 500", f.query.Limit), "Use --all for all runs.")
	}
	if f.oldestFirst {
		f.query.SortOrder = "asc"
	}
	for i, source := range f.query.Sources {
		f.query.Sources[i] = strings.ToUpper(source)
	}
	if f.query.Metadata, err = parsePairs("metadata", f.metadata); err != nil {
		return err
	}
	if f.since != "" {
		f.query.CreatedAfter, err = parseTime("since", f.since, sh.now(), false)
	}
	return err
}

// parseStates reads --state, which is repeated or has commas.
func parseStates(list []string) (states []client.RunState, err error) {
	for _, words := range list {
		for word := range strings.SplitSeq(words, ",") {
			state, err := parseState(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			states = append(states, state)
		}
	}
	return states, nil
}

func parseState(word string) (client.RunState, error) {
	state := client.RunState(strings.ToUpper(strings.NewReplacer("_", "", "-", "").Replace(word)))
	if slices.Contains(client.RunStates(), state) {
		return state, nil
	}
	var names []string
	for _, s := range client.RunStates() {
		names = append(names, strings.ToLower(string(s)))
	}
	hint := "States are: " + strings.Join(names, ", ") + "."
	if near := nearest.Word(strings.ToLower(word), names); near != "" {
		hint = "Did you mean " + near + "? " + hint
	}
	return "", usage(fmt.Sprintf("--state %q is not a state", word), hint)
}

func (sh *shell) list(ctx context.Context, f listFlags) error {
	c, err := sh.connect(ctx)
	if err != nil {
		return err
	}
	if f.query.FactoryUIDs, err = sh.factoryUIDs(ctx, c, f.factories); err != nil {
		return err
	}
	page := &client.RunPage{}
	if f.all {
		f.query.Limit = 500
		for run, err := range c.Runs.All(ctx, f.query) {
			if err != nil {
				return err
			}
			page.Runs = append(page.Runs, run)
		}
	} else if page, err = c.Runs.List(ctx, f.query); err != nil {
		return err
	}
	if !sh.forPeople() {
		raw := []json.RawMessage{}
		for _, run := range page.Runs {
			raw = append(raw, run.RawJSON())
		}
		return documents(sh, map[string]any{"runs": raw, "page_info": page.PageInfo}, raw)
	}
	sh.showRuns(page.Runs)
	if page.PageInfo.HasNextPage {
		fmt.Fprintf(sh.err, "-- there are more: add --all, or --cursor %s\n", clean(page.PageInfo.NextCursor))
	}
	return nil
}

func (sh *shell) showRuns(runs []client.Run) {
	if len(runs) == 0 {
		fmt.Fprintln(sh.err, "-- no runs; start one: lineshaft run \"what the agent should do\"")
		return
	}
	var rows [][]cell
	for _, run := range runs {
		name := ""
		if run.AgentConfig != nil {
			name = run.AgentConfig.Name
		}
		rows = append(rows, []cell{
			plain(oneLine(run.RunID)),
			{oneLine(string(run.State)), stateStyle(run.State)},
			plain(sh.when(run.UpdatedAt)),
			plain(clip(oneLine(name), 24)), plain(oneLine(run.Title)),
		})
	}
	sh.table([]string{"RUN ID", "STATE", "UPDATED", "NAME", "TITLE"}, rows)
}
