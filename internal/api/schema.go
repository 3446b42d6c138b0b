package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
)

// The published enumerations. Their values come from the domain: the OpenAPI document,
// the validation and the server cannot disagree.
type (
	// RunState is the state of a run.
	RunState string
	// RunSourceType says where a run came from.
	RunSourceType string
	// TaskStatus is a group of states.
	TaskStatus string
	// ArtifactType is the kind of an artifact.
	ArtifactType string
	// RunSortBy is an order of the run list.
	RunSortBy string
	// HarnessType names the adapter that drives the agent.
	HarnessType string
	// KeyRole is a role that an API key can have.
	KeyRole string
	// PlatformErrorCode is a code of a problem or of a failed run.
	PlatformErrorCode string
)

// Schema implements huma.SchemaProvider.
func (RunState) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "RunState", lineshaft.RunStates(), "The state of a run. SUCCEEDED, FAILED, ERROR and CANCELLED runs have ended.")
}

// Schema implements huma.SchemaProvider.
func (RunSourceType) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "RunSourceType", lineshaft.Sources(), "Where a run came from. The list may grow.")
}

// Schema implements huma.SchemaProvider.
func (TaskStatus) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "TaskStatus", taskStatuses(), "A group of run states.")
}

// Schema implements huma.SchemaProvider.
func (ArtifactType) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "ArtifactType", lineshaft.ArtifactTypes(), "The kind of an artifact.")
}

// Schema implements huma.SchemaProvider.
func (RunSortBy) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "RunSortBy", lineshaft.RunSorts(), "The order of the list; agent orders by skill, runs without one last.")
}

// Schema implements huma.SchemaProvider.
func (HarnessType) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "HarnessType", lineshaft.HarnessTypes(), "The adapter that drives the agent; oz is another name of builtin.")
}

// Schema implements huma.SchemaProvider.
func (KeyRole) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "KeyRole", keyRoles(), "What a key may do. A worker key claims runs and nothing else.")
}

// Schema implements huma.SchemaProvider.
func (PlatformErrorCode) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "PlatformErrorCode", lineshaft.Codes(), "Why something failed; /docs/errors/ explains each.")
}

func taskStatuses() []string {
	return []string{"running", "failed", "blocked", "cancelled", "complete"}
}

// keyRoles leaves out the role of run tokens: they are made by the server alone.
func keyRoles() []lineshaft.Role {
	return slices.DeleteFunc(lineshaft.Roles(), func(r lineshaft.Role) bool { return r == lineshaft.RoleRun })
}

// enum registers a named string enumeration and refers to it.
func enum[T ~string](r huma.Registry, name string, values []T, doc string) *huma.Schema {
	if r.Map()[name] == nil {
		s := &huma.Schema{Type: huma.TypeString, Description: doc}
		for _, v := range values {
			s.Enum = append(s.Enum, string(v))
		}
		s.PrecomputeMessages()
		r.Map()[name] = s
	}
	return &huma.Schema{Ref: schemaPrefix + name}
}

const schemaPrefix = "#/components/schemas/"

// Unsupported is a field of the published API whose meaning this server does not
// offer. It only remembers whether the caller asked for something.
type Unsupported struct{ Set bool }

// UnmarshalJSON takes any value; null and empty values ask for nothing.
func (u *Unsupported) UnmarshalJSON(data []byte) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return err
	}
	switch compact.String() {
	case "null", `""`, "[]", "{}", "false":
		u.Set = false
	default:
		u.Set = true
	}
	return nil
}

// MarshalJSON writes the value that asks for nothing.
func (u Unsupported) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// Schema implements huma.SchemaProvider.
func (Unsupported) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Description: "Not offered by this server: a value is refused with 422 operation_not_supported.",
		Extensions: map[string]any{"anyOf": []any{
			map[string]any{"type": []string{"null", "string", "array", "object"}, "maxLength": 0, "maxItems": 0, "maxProperties": 0},
			map[string]any{"const": false},
		}},
	}
}

// Metadata is a map of labels. Its limits are checked by the domain, which names
// the key to blame.
type Metadata map[string]string

// Schema implements huma.SchemaProvider. The rules for keys and values are for
// readers only: huma loses its place in paths with keys that contain a dot.
func (Metadata) Schema(huma.Registry) *huma.Schema {
	maxKeys := lineshaft.MaxMetadataKeys
	return &huma.Schema{
		Type: huma.TypeObject, MaxProperties: &maxKeys,
		Description: "Labels: at most 20 keys of 1 to 64 of the characters A-Z a-z 0-9 . _ -, values of at most 256 bytes.",
		Extensions: map[string]any{
			"additionalProperties": map[string]any{"type": "string", "maxLength": lineshaft.MaxMetadataValue},
			"propertyNames":        map[string]any{"pattern": "^[A-Za-z0-9._-]{1,64}$"},
		},
	}
}

// UnmarshalJSON names the key whose value is not a text.
func (m *Metadata) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*m = make(Metadata, len(values))
	for key, value := range values {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return typeError("metadata."+lineshaft.Clip(key, 80), err)
		}
		(*m)[key] = text
	}
	return nil
}

// Object is a JSON object without a fixed shape.
type Object map[string]any

// Schema implements huma.SchemaProvider.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// RawObject is a JSON object that is passed on as it was written: decoded, it would take
// many times its length of memory.
type RawObject json.RawMessage

// Schema implements huma.SchemaProvider.
func (RawObject) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
}

// MarshalJSON writes the text; nothing is an empty object.
func (o RawObject) MarshalJSON() ([]byte, error) {
	if o.IsZero() {
		return []byte("{}"), nil
	}
	return o, nil
}

// UnmarshalJSON keeps the text.
func (o *RawObject) UnmarshalJSON(data []byte) error {
	*o = bytes.Clone(data)
	return nil
}

// IsZero says that there is none.
func (o RawObject) IsZero() bool { return len(o) == 0 }

// has says whether the object has a member of that name.
func (o RawObject) has(name string) bool {
	dec, depth := json.NewDecoder(bytes.NewReader(o)), 0
	for isName := false; ; {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			isName = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth != 1 {
			continue
		}
		if isName && token == name {
			return true
		}
		isName = !isName
	}
}

// marshal encodes an answer: without the trailing newline of json.Encoder, which
// clients that take the raw text of a JSON string would keep.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

const timeLayout = "2006-01-02T15:04:05.000000Z"

// stamp writes a time as the wire wants it: UTC, always six fractional digits (H-6).
func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }

func stampOrNull(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := stamp(t)
	return &text
}

// duration writes d in ISO 8601, with microseconds and without days: PT2M30S.
func duration(d time.Duration) string {
	d = max(d, 0).Round(time.Microsecond)
	var out strings.Builder
	out.WriteString("PT")
	if hours := d / time.Hour; hours > 0 {
		fmt.Fprintf(&out, "%dH", hours)
	}
	if minutes := d % time.Hour / time.Minute; minutes > 0 {
		fmt.Fprintf(&out, "%dM", minutes)
	}
	rest := d % time.Minute
	if rest == 0 && out.Len() > 2 {
		return out.String()
	}
	fmt.Fprintf(&out, "%d", rest/time.Second)
	if micros := rest % time.Second / time.Microsecond; micros > 0 {
		out.WriteString(strings.TrimRight(fmt.Sprintf(".%06d", micros), "0"))
	}
	out.WriteString("S")
	return out.String()
}
