package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// shownChildren is how many child runs a page names.
	shownChildren = 20
	shownFiles    = 100
)

// runLive is the part of a run's page that changes while it works, besides the transcript.
type runLive struct {
	Run       *lineshaft.Run
	Phases    []phase
	Children  []lineshaft.Run
	More      bool // children than are shown
	Artifacts []file
	// Advice is what to do next about a run that went wrong.
	Advice string
	// What the reader may do now; the rest has no button.
	CanSend, CanInterrupt, CanCancel, CanRerun bool
	// NoRerun says why an ended run cannot be run again by one who may start runs.
	NoRerun string
	// Redeliver is where what a delivery started is run again; empty when it cannot be.
	Redeliver    string
	LiveChildren int
	// Worked is how long an agent has worked on it, or how long it waits; Since is set while
	// either lasts.
	Worked time.Duration
	Since  time.Time
}

// file is something to download, or a reference to a place elsewhere.
type file struct {
	Name, Kind, Href string
	Size             int64
	// Outside leads to another host.
	Outside bool
}

// origin is what a run came from.
type origin struct{ Label, Name, Href string }

// setting is a value of a run's configuration and the layer that gave it.
type setting struct{ Name, Value, From string }

// runLive reads what changes. The reader has been found to see the run.
func (s pages) runLive(ctx context.Context, c lineshaft.Caller, run *lineshaft.Run) (runLive, error) {
	live := runLive{Run: run, Advice: advice(run), Worked: run.RunTime}
	if !run.State.Terminal() {
		if live.Since = run.StartedAt; live.Since.IsZero() {
			live.Since = run.CreatedAt
		}
		live.Worked = s.Now().Sub(live.Since)
	}
	executions, err := s.Control.Executions(ctx, c, run.ID)
	if err != nil {
		return live, err
	}
	var steps []lineshaft.Event
	if len(executions) > 0 {
		if steps, err = s.setUpSteps(ctx, c, run.ID, 0, timelineSteps); err != nil {
			return live, err
		}
	}
	live.Phases = timeline(run, executions, steps)
	children, err := s.Control.ListRuns(ctx, c, lineshaft.RunQuery{
		Filter: lineshaft.RunFilter{ParentRunID: run.ID}, Sort: lineshaft.SortCreated, Limit: shownChildren,
	})
	if err != nil {
		return live, err
	}
	live.Children, live.More = children.Runs, children.Next != ""
	for _, child := range live.Children {
		if !child.State.Terminal() {
			live.LiveChildren++
		}
	}
	for _, a := range run.Artifacts[:min(len(run.Artifacts), shownFiles)] {
		live.Artifacts = append(live.Artifacts, artifactFile(a))
	}
	changes := runs.MayChange(c, run)
	live.CanSend = changes
	live.CanInterrupt = changes && !run.Interrupted && run.State.Interruptible()
	live.CanCancel = changes && !run.State.Terminal()
	if run.State.Terminal() && !run.Source.Delivered() && c.Role.May(lineshaft.PermissionRunsStart) {
		if live.NoRerun, err = s.Control.RerunProblem(ctx, c, run.ID, lineshaft.SourceWebApp); err != nil {
			return live, err
		}
		live.CanRerun = live.NoRerun == ""
	}
	if run.State.Terminal() && run.Source.Delivered() {
		err = s.offerRedelivery(ctx, c, &live)
	}
	return live, err
}

// offerRedelivery leads from a run to the page that redelivers its delivery, or says to those who may
// start runs why there is no such page.
func (s pages) offerRedelivery(ctx context.Context, c lineshaft.Caller, live *runLive) error {
	run := live.Run
	webhook, delivery := run.Metadata[lineshaft.MetadataWebhook], run.Metadata[lineshaft.MetadataDelivery]
	reason := "its delivery is no longer kept, or its webhook was deleted; ask the sender to send it again"
	switch {
	case !c.Role.May(lineshaft.PermissionRunsStart):
		return nil
	case !c.Role.May(lineshaft.PermissionFactoriesManage):
		reason = "a delivery started it, and only managers redeliver; ask one of them"
	case webhook != "" && delivery != "":
		_, err := s.Control.GetWebhook(ctx, c, run.FactoryUID, webhook)
		if err == nil {
			_, err = s.Control.GetDelivery(ctx, c, run.FactoryUID, webhook, delivery, false)
		}
		if err == nil {
			live.Redeliver = page.Under("factories", run.FactoryUID, "webhooks", webhook, "deliveries", delivery, "redeliver")
			return nil
		}
		if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			return err
		}
	}
	live.NoRerun = reason
	return nil
}

func artifactFile(a lineshaft.Artifact) file {
	f := file{Name: a.FileName, Kind: string(a.Type), Size: a.SizeBytes}
	if f.Name == "" {
		f.Name = a.Title
	}
	if a.BlobID != "" {
		f.Href = "/runs/" + a.RunID + "/artifacts/" + a.UID
	} else if address, ok := page.SafeLink(a.URL); ok {
		f.Href, f.Outside = address, true
	}
	f.Name = cmp.Or(f.Name, pullRequest(a.URL), a.URL)
	return f
}

// pullRequest is what people call a pull or merge request by its address; empty for any other.
func pullRequest(address string) string {
	found := pullRequestPath.FindStringSubmatch(address)
	if found == nil {
		return ""
	}
	if strings.HasPrefix(found[1], "merge") {
		return "Merge request !" + found[2]
	}
	return "Pull request #" + found[2]
}

var pullRequestPath = regexp.MustCompile(`^https?://[^?#]+/(pull|pulls|pull-requests|merge_requests)/(\d{1,9})/?$`)

// advice says what to do about a run that ended badly or waits.
func advice(run *lineshaft.Run) string {
	switch {
	case run.State == lineshaft.InProgress && run.Interrupted:
		return "Say below what to do next, or cancel the run."
	case run.State == lineshaft.Blocked:
		return "Answer below, or cancel the run."
	case run.State != lineshaft.Failed && run.State != lineshaft.Errored:
		return ""
	}
	switch run.Status.ErrorCode {
	case lineshaft.CodeAgentProcessFailed:
		return "The end of the transcript shows what failed. Follow up to continue in the same workspace, or run it again."
	case lineshaft.CodeBudgetExceeded:
		return "Raise the budget in the configuration, then follow up to continue."
	case lineshaft.CodeRunTimeout:
		return "Raise timeout_minutes, or follow up to continue from where it stopped."
	case lineshaft.CodeEnvironmentSetupFailed:
		return "Fix the environment's setup commands or repositories, then run it again."
	case lineshaft.CodeInvalidRequest:
		return "Send what is missing as a follow-up, or start a new run."
	default:
	}
	if run.Status.Retryable != nil && *run.Status.Retryable {
		return "Running it again may succeed."
	}
	return "Follow up to continue in the same workspace, or run it again."
}

// runFixed is the part of a run's page that stays as it is.
type runFixed struct {
	Origins     []origin
	Settings    []setting
	Attachments []file
	Metadata    []setting
}

func (s pages) runFixed(ctx context.Context, c lineshaft.Caller, run *lineshaft.Run) (runFixed, error) {
	from, err := s.Control.ExplainRun(ctx, c, run.ID)
	if err != nil {
		return runFixed{}, err
	}
	fixed := runFixed{Origins: s.origins(ctx, c, run)}
	if fixed.Settings, err = settings(run.Config, from); err != nil {
		return fixed, err
	}
	attached, err := s.Control.Attachments(ctx, c, run.ID)
	for _, a := range attached[:min(len(attached), shownFiles)] {
		fixed.Attachments = append(fixed.Attachments, file{Name: a.FileName, Kind: a.MimeType, Size: a.Size, Href: "/runs/" + run.ID + "/attachments/" + a.ID})
	}
	for _, name := range slices.Sorted(maps.Keys(run.Metadata)) {
		switch name {
		case lineshaft.MetadataWebhook, lineshaft.MetadataDelivery, lineshaft.MetadataAutomation, lineshaft.MetadataFinishedRun:
		default:
			fixed.Metadata = append(fixed.Metadata, setting{Name: name, Value: run.Metadata[name]})
		}
	}
	return fixed, err
}

// settings lists a configuration, as readers may see it, with the origin of each
// value.
func settings(config lineshaft.AgentConfig, from map[string]string) ([]setting, error) {
	raw, err := json.Marshal(config.Shown())
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &values); err != nil {
		return nil, err
	}
	var list []setting
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var text string
		if json.Unmarshal(values[name], &text) != nil {
			text = string(values[name])
		}
		list = append(list, setting{Name: name, Value: page.ShowText(text).Text, From: from[name]})
	}
	return list, nil
}

// origins names what a run came from, as far as it still exists and the reader may
// see it; the rest is shown by its id.
func (s pages) origins(ctx context.Context, c lineshaft.Caller, run *lineshaft.Run) []origin {
	var list []origin
	factory := ""
	if run.FactoryUID != "" && c.Role.May(lineshaft.PermissionFactoriesRead) {
		if f, err := s.Control.GetFactory(ctx, c, run.FactoryUID); err == nil {
			factory = page.FactoryAddress(f.UID)
			list = append(list, origin{"Factory", f.Name, factory})
		}
	}
	if a, err := s.agentOfRun(ctx, c, run.AgentUID); err == nil && a != nil {
		list = append(list, origin{"Agent", a.Name, "/agents/" + a.UID})
	}
	if factory != "" {
		list = append(list, s.factoryOrigins(ctx, c, run, factory)...)
	}
	if run.ScheduleID != "" {
		o := origin{"Schedule", run.ScheduleID, "/schedules"}
		if schedule, err := s.Control.GetSchedule(ctx, c, run.ScheduleID); err == nil {
			o.Name, o.Href = schedule.Name, page.Under("schedules", run.ScheduleID)
		}
		list = append(list, o)
	}
	if id := run.Metadata[lineshaft.MetadataFinishedRun]; id != "" {
		list = append(list, origin{"After the end of", id, "/runs/" + url.PathEscape(id)})
	}
	if run.ParentRunID != "" {
		list = append(list, origin{"Parent run", s.titleOf(ctx, c, run.ParentRunID), "/runs/" + run.ParentRunID})
	}
	return list
}

func (s pages) agentOfRun(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Agent, error) {
	if uid == "" || !c.Role.May(lineshaft.PermissionFactoriesRead) {
		return nil, nil // no agent, and none to be named
	}
	return s.Control.GetAgent(ctx, c, uid)
}

// factoryOrigins are the automation and the delivery of a run.
func (s pages) factoryOrigins(ctx context.Context, c lineshaft.Caller, run *lineshaft.Run, factory string) []origin {
	var list []origin
	if uid := run.Metadata[lineshaft.MetadataAutomation]; uid != "" {
		if a, err := s.Control.GetAutomation(ctx, c, run.FactoryUID, uid); err == nil {
			list = append(list, origin{"Automation", a.Name, factory + "/automations/" + a.UID})
		}
	}
	uid, delivery := run.Metadata[lineshaft.MetadataWebhook], run.Metadata[lineshaft.MetadataDelivery]
	if uid == "" {
		return list
	}
	hook, err := s.Control.GetWebhook(ctx, c, run.FactoryUID, uid)
	if err != nil {
		return list
	}
	at := factory + "/webhooks/" + hook.UID
	list = append(list, origin{"Webhook", hook.Name, at})
	if delivery != "" {
		list = append(list, origin{"Delivery", delivery, at + "/deliveries/" + url.PathEscape(delivery)})
	}
	return list
}

func (s pages) titleOf(ctx context.Context, c lineshaft.Caller, runID string) string {
	run, err := s.Control.GetRun(ctx, c, runID)
	if err != nil {
		return runID
	}
	return run.Title
}
