package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
)

// TriggerSchedule says when a trigger fires.
type TriggerSchedule struct {
	Name     string `json:"name,omitempty" maxLength:"200" doc:"What tells it apart from other schedules of the automation."`
	Cron     string `json:"cron" doc:"Five cron fields, @daily and the like, or @every 1h."`
	Timezone string `json:"timezone,omitempty" doc:"An IANA name; UTC when absent."`
	Overlap  string `json:"overlap,omitempty" doc:"skip or queue: what happens while the last run is live."`
}

// UnmarshalJSON also takes the cron expression alone.
func (t *TriggerSchedule) UnmarshalJSON(data []byte) error {
	*t = TriggerSchedule{}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		return json.Unmarshal(data, &t.Cron)
	}
	var fields map[string]string
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for name, value := range fields {
		switch name {
		case "name":
			t.Name = value
		case "cron":
			t.Cron = value
		case "timezone":
			t.Timezone = value
		case "overlap":
			t.Overlap = value
		default:
			return fmt.Errorf("schedule has no %q; it has name, cron, timezone and overlap", lineshaft.Clip(name, 80))
		}
	}
	return nil
}

// Schema implements huma.SchemaProvider. What is inside is judged by the domain,
// which says more than a schema could.
func (TriggerSchedule) Schema(huma.Registry) *huma.Schema {
	cron, zone := map[string]any{"type": "string", "format": "cron"}, map[string]any{"type": "string", "format": "timezone"}
	return &huma.Schema{
		Description: "For provider schedule only: a cron expression (five fields, @daily and the like, or @every 1h), or an object with cron, timezone (an IANA name; UTC when absent), overlap (skip or queue) and name (what tells it apart from other schedules of the automation).",
		Extensions: map[string]any{"anyOf": []map[string]any{cron, {
			"type": "object", "required": []string{"cron"}, "additionalProperties": false,
			"properties": map[string]any{
				"name": map[string]any{"type": "string", "maxLength": 200}, "cron": cron, "timezone": zone,
				"overlap": map[string]any{"type": "string", "enum": []string{"skip", "queue"}},
			},
		}}},
	}
}

func domainTiming(t *TriggerSchedule) *lineshaft.Timing {
	if t == nil {
		return nil
	}
	return &lineshaft.Timing{Name: t.Name, Cron: t.Cron, Timezone: t.Timezone, Overlap: lineshaft.Overlap(t.Overlap)}
}

func wireTiming(t *lineshaft.Timing) *TriggerSchedule {
	if t == nil {
		return nil
	}
	return &TriggerSchedule{Name: t.Name, Cron: t.Cron, Timezone: t.Timezone, Overlap: string(t.Overlap)}
}
