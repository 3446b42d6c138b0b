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

// The data of events are the server's own types; one that is not there is a mistake.
func TestI3EventDataComesFromTheServer(t *testing.T) {
	t.Parallel()
	text, err := mirror("../../event.go", []string{"EventType", "StateData"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"EventPlan EventType = \"plan\"", "To        RunState `json:\"to\"`", "ErrorCode string   `json:\"error_code,omitempty\"`"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nis missing in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "OutputData struct") {
		t.Errorf("nobody asked for OutputData:\n%s", text)
	}
	if _, err := mirror("../../event.go", []string{"StateDatum"}); err == nil || !strings.Contains(err.Error(), "StateDatum") {
		t.Errorf("a type that is not there: %v", err)
	}
}

// The document has the path, the bodies and the ids of a method; the table its name and comment.
func TestI3MethodsComeFromTheDocument(t *testing.T) {
	t.Parallel()
	schemas, operations, err := readDocument("testdata/document.yaml")
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{doc: schemas, operations: operations, table: table{types: []typeRow{
		{Name: "Thing", Schema: "Thing"}, {Name: "ThingRequest", Schema: "MakeThing"}, {Name: "ThingPage", Schema: "Things"},
	}}}
	w.writeService("Things", methodTable{Services: map[string]serviceRow{"Things": {Doc: "has things.", Own: map[string]string{"thingUid": "uid"}, Methods: map[string]methodRow{
		"All": {Op: "listThings", Doc: "goes on.", Pages: "List", Query: "ThingQuery", Member: []string{"things"}}, "Make": {Op: "makeThing", Doc: "makes one.", Keyed: true},
		"Number": {Op: "getThing", Doc: "reads one.", Set: [][2]string{{"whole", "1"}}}, "Remove": {Op: "deleteThing", Doc: "ends one."}, "Stray": {Op: "none"},
		"Names": {Op: "listThings", Doc: "reads all.", Member: []string{"things"}, All: true}, "Odd": {Op: "listThings", Member: []string{"others"}, All: true},
	}}}})
	for _, want := range []string{
		"func (s *ThingsService) All(ctx context.Context, boxID string, q ThingQuery) iter.Seq2[Thing, error] {\n" +
			"\treturn pages(&q.Cursor, func() (*ThingPage, error) { return s.List(ctx, boxID, q) },\n" +
			"\t\tfunc(p *ThingPage) ([]Thing, PageInfo) { return p.Things, p.PageInfo })\n",
		"func (s *ThingsService) Make(ctx context.Context, boxID string, req ThingRequest) (*Thing, error) {\n" +
			"\treturn receive[Thing](ctx, s.c, call{method: http.MethodPost, place: at(\"/box/{box}/things\", boxID), body: req, keyed: true})\n",
		"func (s *ThingsService) Number(ctx context.Context, boxID, uid string, number int64) (*Thing, error) {\n" +
			"\treturn get[Thing](ctx, s.c, at(\"/box/{box}/things/{thing}/{number}\", boxID, uid, strconv.FormatInt(number, 10)), query(\"whole\", \"1\"))\n",
		"// Remove ends one.\nfunc (s *ThingsService) Remove(ctx context.Context, boxID, uid string, number int64) error {\n\treturn s.c.remove(",
		"func (s *ThingsService) Names(ctx context.Context, boxID string) ([]Thing, error) {\n\treturn readAll[Thing](ctx, s.c, at(\"/box/{box}/things\", boxID), query(), \"things\")\n",
	} {
		if !strings.Contains(w.out.String(), want) {
			t.Errorf("%s\nis missing in\n%s", want, w.out.String())
		}
	}
	if got := strings.Join(w.faults, "; "); got != "Odd: Things has no list others; Stray: there is no operation none" {
		t.Errorf("faults: %s", got)
	}
}
