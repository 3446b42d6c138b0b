package api

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
)

func TestH6TimestampsHaveSixDigitsInUTC(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		at   time.Time
		want string
	}{
		{time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC), "2026-08-01T09:30:00.000000Z"},
		{time.Date(2026, 8, 1, 9, 30, 0, 1_999, time.UTC), "2026-08-01T09:30:00.000001Z"},
		{time.Date(2026, 8, 1, 1, 30, 0, 120_000_000, time.FixedZone("a", 2*3600)), "2026-07-31T23:30:00.120000Z"},
	} {
		if got := stamp(tc.at); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.at, got, tc.want)
		}
	}
	if stampOrNull(time.Time{}) != nil {
		t.Error("the zero time is null")
	}
}

func TestH6DurationsAreISO8601(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		d    time.Duration
		want string
	}{
		{0, "PT0S"},
		{time.Second, "PT1S"},
		{150 * time.Second, "PT2M30S"},
		{time.Minute, "PT1M"},
		{time.Hour, "PT1H"},
		{26*time.Hour + 3*time.Minute + 4*time.Second, "PT26H3M4S"},
		{1500 * time.Millisecond, "PT1.5S"},
		{time.Hour + time.Microsecond, "PT1H0.000001S"},
		{499 * time.Nanosecond, "PT0S"},
		{-time.Second, "PT0S"},
	} {
		if got := duration(tc.d); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.d, got, tc.want)
		}
	}
}

func TestH6DurationsReadBack(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^PT(\d+H)?(\d+M)?(\d+(\.\d{1,6})?S)?$`)
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour/time.Microsecond)).Draw(t, "micros")) * time.Microsecond
		text := duration(d)
		back, err := time.ParseDuration(strings.ToLower(strings.TrimPrefix(text, "PT")))
		if err != nil || back != d || !form.MatchString(text) {
			t.Fatalf("%v: %s reads as %v, %v", d, text, back, err)
		}
	})
}

func TestUnsupportedSeesWhetherSomethingIsAsked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`null`: false, `""`: false, `[]`: false, `{}`: false, `{ }`: false, "[\n]": false, `false`: false,
		`"x"`: true, `[1]`: true, `{"a":null}`: true, `true`: true, `0`: true, `" "`: true,
	} {
		var v struct {
			Field Unsupported `json:"field,omitzero"`
		}
		if err := json.Unmarshal([]byte(`{"field":`+text+`}`), &v); err != nil || v.Field.Set != want {
			t.Errorf("%s: %v, %v", text, v.Field.Set, err)
		}
	}
	if text, err := json.Marshal(AmbientAgentConfig{}); err != nil || string(text) != "{}" {
		t.Errorf("an empty configuration is %s, %v", text, err)
	}
}

func TestEnumerationsComeFromTheDomain(t *testing.T) {
	t.Parallel()
	schemas := build(Deps{Control: &control.Service{}}).api.OpenAPI().Components.Schemas.Map()
	for name, want := range map[string]int{
		"RunState": len(lineshaft.RunStates()), "RunSourceType": len(lineshaft.Sources()), "ArtifactType": len(lineshaft.ArtifactTypes()),
		"RunSortBy": len(lineshaft.RunSorts()), "HarnessType": len(lineshaft.HarnessTypes()), "PlatformErrorCode": len(lineshaft.Codes()),
		"TaskStatus": 5, "KeyRole": len(lineshaft.Roles()) - 1,
	} {
		if schemas[name] == nil || len(schemas[name].Enum) != want {
			t.Errorf("%s: %+v", name, schemas[name])
		}
	}
	for _, status := range taskStatuses() {
		if _, ok := lineshaft.TaskStatus(status); !ok {
			t.Errorf("the domain does not know task_status %s", status)
		}
	}
}

func TestMarshalAddsNothing(t *testing.T) {
	t.Parallel()
	if got, err := marshal("<a&b>"); err != nil || string(got) != `"<a&b>"` {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := marshal(make(chan int)); err == nil {
		t.Error("a channel has no JSON")
	}
}

// Every struct tag of the limits repeats a constant of the domain; this holds them
// together.
func TestLimitsInTagsMatchTheDomain(t *testing.T) {
	t.Parallel()
	schemas := build(Deps{Control: &control.Service{}}).api.OpenAPI().Components.Schemas.Map()
	request, config := schemas["RunAgentRequest"].Properties, schemas["AmbientAgentConfig"].Properties
	for name, got := range map[string][2]any{
		"prompt":        {*request["prompt"].MaxLength, lineshaft.MaxPromptBytes},
		"title":         {*request["title"].MaxLength, lineshaft.MaxTitleRunes},
		"attachments":   {*request["attachments"].MaxItems, lineshaft.MaxAttachments},
		"metadata":      {*request["metadata"].MaxProperties, lineshaft.MaxMetadataKeys},
		"name":          {*config["name"].MaxLength, lineshaft.MaxNameRunes},
		"timeout":       {*config["timeout_minutes"].Maximum, float64(lineshaft.MaxTimeoutMinutes)},
		"attempts":      {*schemas["Retry"].Properties["max_attempts"].Maximum, float64(lineshaft.MaxAttempts)},
		"filter labels": {*schemas["CancelFilter"].Properties["metadata"].MaxProperties, lineshaft.MaxMetadataFilters},
	} {
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s: %v in the tag, %v in the domain", name, got[0], got[1])
		}
	}
}
