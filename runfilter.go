package lineshaft

import (
	"reflect"
	"time"
)

// MaxMetadataFilters bounds the metadata pairs of one list call.
const MaxMetadataFilters = 5

// MaxFilterValues bounds the values of one filter of a list call.
const MaxFilterValues = 20

// RunSort is a sort order of the run list.
type RunSort string

// The published sort orders.
const (
	SortUpdated RunSort = "updated_at"
	SortCreated RunSort = "created_at"
	SortTitle   RunSort = "title"
	// SortAgent orders by skill; runs without one come last in either direction.
	SortAgent RunSort = "agent"
)

// RunSorts lists the sort orders.
func RunSorts() []RunSort { return []RunSort{SortUpdated, SortCreated, SortTitle, SortAgent} }

// RunFilter selects runs; all conditions must hold. Lists mean any of, and a nil
// list or a zero value does not filter.
type RunFilter struct {
	// States is nil for all; an empty, non-nil list matches nothing.
	States  []RunState
	Sources []Source
	Name    string
	ModelID string
	// Creator and Executor are principal uids.
	Creator       string
	Executor      string
	CreatedAfter  time.Time // inclusive
	CreatedBefore time.Time // exclusive
	UpdatedAfter  time.Time // inclusive
	UpdatedBefore time.Time // exclusive
	EnvironmentID string
	// NoEnvironment selects runs without an environment.
	NoEnvironment bool
	SkillSpec     string // as it was asked for with, or as SkillSpecs has it
	ScheduleID    string
	FactoryUIDs   []string
	FactoryOnly   bool
	ParentRunID   string
	AncestorRunID string
	WorkerHost    string
	Metadata      map[string]string
	ArtifactType  ArtifactType
	// ErrorCode is that of the status message.
	ErrorCode Code `json:",omitzero"` // cursors of the version before know no such field
	// Query holds words: each must begin a word of title, name, skill or the start of the prompt.
	Query string
	// Local selects runs outside any worker; this server has none, so it matches nothing.
	Local bool
}

// RunQuery is one page of a filtered list.
type RunQuery struct {
	Filter    RunFilter
	Sort      RunSort
	Ascending bool
	Limit     int
	// Cursor is opaque and comes from the page before; empty for the first.
	Cursor string
	// Brief leaves out prompts, and of configurations all but the name and the model.
	Brief bool
}

// RunPage is the answer to a RunQuery.
type RunPage struct {
	Runs []Run
	// Next is the cursor of the next page; empty at the end.
	Next string
}

// Validate refuses a filter that would cost more than a page of a list may.
func (f RunFilter) Validate() error {
	states := map[RunState]bool{}
	for _, state := range f.States {
		states[state] = true
	}
	for _, list := range []struct {
		field string
		size  int
	}{{"factory_uid", len(f.FactoryUIDs)}, {"source", len(f.Sources)}, {"state", len(states)}} {
		if list.size > MaxFilterValues {
			return Invalid(list.field, "%d values are too many; at most %d are allowed, so ask several times or leave the filter out", list.size, MaxFilterValues)
		}
	}
	for key, value := range f.Metadata {
		if !validMetadataKey(key) {
			return Invalid("metadata", "no run has a key %q; a key has 1 to 64 of the characters A-Z a-z 0-9 . _ -", Clip(key, 80))
		}
		if len(value) > MaxMetadataValue {
			return Invalid("metadata."+key, "no run has a value of %d bytes; a value has at most %d", len(value), MaxMetadataValue)
		}
	}
	return nil
}

// IsZero says that the filter selects every run.
func (f RunFilter) IsZero() bool { return reflect.ValueOf(f).IsZero() }
