package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
)

func (sh *shell) followupCommand() *cobra.Command {
	var a attend
	var files []string
	cmd := &cobra.Command{
		Use:   "followup RUN_ID MESSAGE",
		Short: "Send a further message to a run, also to one that has ended",
		Args:  needs(1, 2, "a run id and a message in quotes"),
		Example: example(
			`lineshaft runs followup RUN_ID "Now add a test" --follow`, "and watch",
			"lineshaft runs followup RUN_ID yes", "answer the question of a run that is BLOCKED",
			"lineshaft runs followup RUN_ID - < notes.md", "the message is in a file",
		),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && len(files) == 0 {
				return usage("a follow-up needs a message", `Write: lineshaft runs followup `+args[0]+` "what to do next"`)
			}
			if len(args) == 2 && !looksLikeUID(args[0]) && looksLikeUID(args[1]) {
				return usage("the run id comes before the message", fmt.Sprintf("Write: lineshaft runs followup %s %s", args[1], shellWord(args[0])))
			}
			attachments, err := readAttachments(files)
			if err != nil {
				return err
			}
			req := client.FollowupRequest{Attachments: attachments}
			if len(args) == 2 {
				if req.Message, err = sh.textOrStdin(args[1]); err != nil {
					return err
				}
			}
			return sh.followup(cmd.Context(), args[0], req, a)
		},
	}
	a.flags(cmd)
	cmd.Flags().StringArrayVar(&files, "file", nil, "`FILE` to put into the workspace; repeatable, at most 5 and 10 MB")
	return cmd
}

func (sh *shell) followup(ctx context.Context, runID string, req client.FollowupRequest, a attend) error {
	c, err := sh.connect(ctx)
	if err != nil {
		return err
	}
	var last int64
	if a.follow {
		// What was before is not shown again.
		for event, err := range c.Runs.AllEvents(ctx, runID, client.EventQuery{Limit: 5000}) {
			if err != nil {
				return err
			}
			last = event.Sequence
		}
	}
	if sh.forPeople() || a.wait {
		if run, err := c.Runs.Get(ctx, runID); err == nil && run.State == client.StateBlocked { // else sending tells what is wrong
			a.answered = run
		}
	}
	sent, err := c.Runs.Followup(ctx, runID, req)
	if err != nil {
		return err
	}
	staying := a.wait || a.follow
	switch {
	case sh.forPeople():
		fmt.Fprintf(sh.err, "-- %s\n", outcomeText(sent.Outcome, a.answered != nil))
	case !staying:
		if err := sh.document(sent); err != nil {
			return err
		}
	}
	if staying {
		return sh.stay(ctx, c, runID, last, a)
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
		return "the agent gets the message at its next turn"
	case "handoff_execution":
		return "the run had ended; it is queued again with the message"
	case "queue_pending":
		return "the message is stored for later"
	}
	return oneLine(outcome)
}

func (sh *shell) rerunCommand() *cobra.Command {
	var a attend
	cmd := &cobra.Command{
		Use:     "rerun RUN_ID",
		Short:   "Start a new run with the request of an old one",
		Args:    needs(1, 1, runIDs),
		Example: example("lineshaft runs rerun RUN_ID --follow", "try it again and watch"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			started, err := c.Runs.Rerun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.started(cmd.Context(), c, started, a)
		}),
	}
	a.flags(cmd)
	return cmd
}

func (sh *shell) openCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "open RUN_ID",
		Short:   "Show a run in the browser, or print its address when there is no terminal",
		Args:    needs(1, 1, runIDs),
		Example: example("lineshaft runs open RUN_ID", "the live session of the run"),
		RunE: sh.withClient(func(cmd *cobra.Command, c *client.Client, args []string) error {
			run, err := c.Runs.Get(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return sh.open(cmd.Context(), run)
		}),
	}
}

// pageOf is the page of a run. The address comes from the server and goes to a program,
// so only an ordinary web address is taken.
func pageOf(run *client.Run) (*url.URL, error) {
	link, err := url.Parse(run.SessionLink)
	if run.SessionLink == "" || err != nil || link.Scheme != "http" && link.Scheme != "https" || strings.ContainsAny(run.SessionLink, " \t\r\n") {
		return nil, failure(err, "the run has no page to show", "`lineshaft runs get "+run.RunID+"` shows it here.")
	}
	return link, nil
}

// open shows the page of a run.
func (sh *shell) open(ctx context.Context, run *client.Run) error {
	link, err := pageOf(run)
	if err != nil {
		return err
	}
	if !sh.forPeople() {
		return sh.document(map[string]string{"session_link": link.String()})
	}
	fmt.Fprintln(sh.out, link.String())
	if sh.outWidth == 0 {
		return nil
	}
	if err := sh.deps.OpenURL(ctx, link.String()); err != nil {
		return failure(err, "the browser could not be started", "Open the address above yourself.")
	}
	return nil
}
