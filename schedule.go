package lineshaft

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Overlap is what a schedule does while its last run is still live.
type Overlap string

// The policies of F-6. Without one each fire starts its run, whatever the last does.
const (
	OverlapAllow Overlap = ""
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue"
)

// Timing says when something fires: five cron fields, @daily and the like, or
// @every 1h. Whether it can be read is checked by the part that knows cron.
type Timing struct {
	// Name distinguishes the schedules of an automation; empty is one without.
	Name string `json:"name,omitempty"`
	Cron string `json:"cron"`
	// Timezone is an IANA name; empty is UTC.
	Timezone string  `json:"timezone,omitempty"`
	Overlap  Overlap `json:"overlap,omitempty"`
}

// Validate checks all but the expression and the time zone.
func (t Timing) Validate(field string) error {
	if strings.TrimSpace(t.Cron) == "" || len(t.Cron) > 256 {
		return Invalid(field, "needs a cron expression such as \"0 9 * * 1-5\", @daily or @every 1h")
	}
	if t.Overlap != OverlapAllow && t.Overlap != OverlapSkip && t.Overlap != OverlapQueue {
		return Invalid(field+".overlap", "%q is not one of skip, queue; leave it out to let runs overlap", Clip(string(t.Overlap), 40))
	}
	if utf8.RuneCountInString(t.Name) > MaxNameRunes {
		return Invalid(field+".name", "longer than %d characters", MaxNameRunes)
	}
	return checkText(field, t.Name, t.Cron, t.Timezone)
}

// MaxSchedules is how many schedules a server has: published clients read one page (H-14).
const MaxSchedules = 500

// Schedule starts a run at given times.
type Schedule struct {
	ID      string
	Name    string
	Timing  Timing
	Enabled bool
	Prompt  string
	// AgentUID is the agent that its runs go to; empty is none.
	AgentUID string
	// FactoryUID is that of the agent.
	FactoryUID string
	Config     AgentConfig
	Metadata   map[string]string
	// Truncated says that this is what lists show: long texts are cut.
	Truncated bool
	// LastError is why the last fire started no run; empty when it did.
	LastError string
	// LastRun is when it last started a run, NextRun when it will; zero is not yet, and
	// not at all.
	LastRun   time.Time
	NextRun   time.Time
	Creator   Principal
	Editor    Principal
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Validate checks what can be checked without the store.
func (s Schedule) Validate() error {
	if n := utf8.RuneCountInString(s.Name); strings.TrimSpace(s.Name) == "" || n > MaxNameRunes {
		return Invalid("name", "a schedule needs a name of 1 to %d characters", MaxNameRunes)
	}
	if err := s.Timing.Validate("cron_schedule"); err != nil {
		return err
	}
	if strings.TrimSpace(s.Prompt) == "" && len(s.Config.Skills) == 0 {
		return Invalid("prompt", "a schedule needs a prompt or a skill; say what to do")
	}
	if len(s.Prompt) > MaxPromptBytes {
		return Invalid("prompt", "the prompt has %d bytes; at most %d are allowed", len(s.Prompt), MaxPromptBytes)
	}
	if err := checkText("name", s.Name, s.Prompt); err != nil {
		return err
	}
	if err := validateMetadata(s.Metadata); err != nil {
		return err
	}
	return s.Config.Validate()
}

// FiredBy says which schedule started a run, as the schedule was then.
type FiredBy struct {
	ScheduleID string `json:"schedule_id"`
	Name       string `json:"schedule_name"`
	Cron       string `json:"cron_schedule"`
	// Slot names the time that the run is for, by the wall clock of the time zone.
	Slot string `json:"slot,omitempty"`
}
