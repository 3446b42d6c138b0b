package lineshaft

import (
	"net/url"
	"slices"
	"strings"
)

// Bounds of what an agent reports through the API.
const (
	MaxReportBytes   = 64 << 10
	MaxPlanSteps     = 200
	MaxRunArtifacts  = 1000
	MaxAddressBytes  = 2048
	maxArtifactTitle = 200
	// MaxRunArtifactBytes is how large the artifacts of a run may be together, and
	// MaxTreeArtifactBytes those of a run with all runs below it, unless the settings
	// say otherwise.
	MaxRunArtifactBytes  = 1 << 30
	MaxTreeArtifactBytes = 4 << 30
	// MaxTreeArtifacts is how many artifacts a run has with all runs below it.
	MaxTreeArtifacts = 20_000
	// MaxReportedEvents is how long the log of a run may be for an agent to add to it
	// through the API.
	MaxReportedEvents = 200_000
)

// ReportKind is what an agent reports about its own run through the API.
type ReportKind string

// The kinds of reports.
const (
	ReportMessage     ReportKind = "message"
	ReportNotice      ReportKind = "notice"
	ReportPlan        ReportKind = "plan"
	ReportPullRequest ReportKind = "pull_request"
	ReportReference   ReportKind = "reference"
)

// RunReport is one report. Which fields it has depends on the kind.
type RunReport struct {
	Kind ReportKind
	// Text is that of a message or notice.
	Text string
	// Level of a notice is info, warning or error; empty is info.
	Level string
	// Steps are the whole plan.
	Steps []PlanStep
	// URL is the address of a pull request or another reference.
	URL string
}

// Validate checks a report and names the bad field.
func (r RunReport) Validate() error {
	switch r.Kind {
	case ReportMessage, ReportNotice:
		if strings.TrimSpace(r.Text) == "" || len(r.Text) > MaxReportBytes {
			return Invalid("text", "must have 1 to %d bytes", MaxReportBytes)
		}
		if r.Level != "" && (r.Kind != ReportNotice || !slices.Contains([]string{"info", "warning", "error"}, r.Level)) {
			return Invalid("level", "must be info, warning or error, and is only for a notice")
		}
		return checkText("text", r.Text)
	case ReportPlan:
		return r.validatePlan()
	case ReportPullRequest, ReportReference:
		u, err := url.Parse(r.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || len(r.URL) > MaxAddressBytes {
			return Invalid("url", "must be an http or https URL of at most %d bytes", MaxAddressBytes)
		}
		return checkText("url", r.URL)
	}
	return Invalid("type", "%q is not one of message, notice, plan, pull_request, reference", Clip(string(r.Kind), 40))
}

func (r RunReport) validatePlan() error {
	if len(r.Steps) == 0 || len(r.Steps) > MaxPlanSteps {
		return Invalid("steps", "a plan has 1 to %d steps", MaxPlanSteps)
	}
	total := 0
	for i, step := range r.Steps {
		field := fieldAt("steps", i)
		if total += len(step.Text); step.Text == "" || total > MaxReportBytes {
			return Invalid(field+".text", "each step needs a text, and all together at most %d bytes", MaxReportBytes)
		}
		if !slices.Contains([]string{"pending", "in_progress", "completed"}, step.State) {
			return Invalid(field+".state", "%q is not one of pending, in_progress, completed", Clip(step.State, 40))
		}
		if !slices.Contains([]string{"", "high", "medium", "low"}, step.Priority) {
			return Invalid(field+".priority", "%q is not one of high, medium, low", Clip(step.Priority, 40))
		}
		if err := checkText(field+".text", step.Text); err != nil {
			return err
		}
	}
	return nil
}

// NewArtifact describes a file that an agent reports.
type NewArtifact struct {
	// Type is FILE, SCREENSHOT or PLAN; empty is FILE.
	Type        ArtifactType
	FileName    string
	MimeType    string
	Title       string
	Description string
}

// Validate checks what comes before the content.
func (n NewArtifact) Validate() error {
	if !slices.Contains([]ArtifactType{"", ArtifactFile, ArtifactScreenshot, ArtifactPlan}, n.Type) {
		return Invalid("type", "%q is not one of FILE, SCREENSHOT, PLAN; report an address as pull_request or reference", Clip(string(n.Type), 40))
	}
	if !validFileName(n.FileName) {
		return Invalid("filename", "%q must be a plain file name of at most 255 bytes without slashes", Clip(n.FileName, 80))
	}
	for _, f := range []struct {
		name, value string
		most        int
	}{{"title", n.Title, maxArtifactTitle}, {"description", n.Description, MaxReportBytes}, {"mime_type", n.MimeType, maxArtifactTitle}} {
		if len(f.value) > f.most {
			return Invalid(f.name, "at most %d bytes are allowed", f.most)
		}
		if err := checkText(f.name, f.value); err != nil {
			return err
		}
	}
	return nil
}
