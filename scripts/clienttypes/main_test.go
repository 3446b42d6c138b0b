package main

import (
	"strings"
	"testing"
)

func TestI3ClientTypesAreCurrent(t *testing.T) {
	t.Parallel()
	text, err := generate("../..")
	if err == nil {
		err = compare("../..", text)
	}
	if err != nil {
		t.Error(err)
	}
}

// The document alone makes a field; the table is for what it cannot say.
func TestI3FieldsComeFromTheDocument(t *testing.T) {
	t.Parallel()
	w := writer{
		doc: map[string]schema{
			"Thing": {
				Required: []string{"uid", "part"},
				Properties: map[string]schema{
					"uid": {Type: "string"}, "part": {Ref: "#/components/schemas/Part"}, "other_part": {Ref: "#/components/schemas/Part"},
					"ended_at": {Type: []any{"string", "null"}, Format: "date-time"}, "sizes": {Type: "array", Items: &schema{Type: "integer"}},
					"role": {Type: "string", Enum: []string{"a", "b"}}, "gone": {Type: "string", Description: "Not offered by this server."},
				},
			},
			"Part": {Type: "object"},
		},
		table: table{types: []typeRow{{Name: "Piece", Schema: "Part"}}},
	}
	row := typeRow{
		Name: "Thing", Schema: "Thing", Doc: "is one.", First: []string{"uid"},
		Fields: map[string]fieldRow{"sizes": {Type: "[]int64"}, "role": {Doc: "Role is a or b."}, "colour": {Tag: always}},
	}
	w.writeType(row)
	want := "\n// Thing is one.\ntype Thing struct {\n" +
		"\tUID string `json:\"uid\"`\n\tEndedAt *time.Time `json:\"ended_at\"`\n\tOtherPart *Piece `json:\"other_part,omitempty\"`\n" +
		"\tPart Piece `json:\"part\"`\n\t// Role is a or b.\n\tRole string `json:\"role,omitempty\"`\n\tSizes []int64 `json:\"sizes,omitempty\"`\n}\n"
	if got := w.out.String(); got != want {
		t.Errorf("wrote %s\nwant %s", got, want)
	}
	// A row for a property that is not there, or that changes nothing, is a fault.
	if got := strings.Join(w.faults, "; "); got != "Thing: Thing has no colour; Thing: role needs no row: the document says the same" {
		t.Errorf("faults: %s", got)
	}
}
