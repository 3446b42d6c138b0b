package workerwire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// fill gives every field below v a value of its own, so that a field that is
// forgotten on the wire is missed.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return // only Granted, which the receiver sets
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), n)
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		fill(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("key%d", *n)).Convert(v.Type().Key()), value)
	case reflect.String:
		v.SetString(fmt.Sprintf("text%d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) * int64(time.Millisecond))
	default:
		panic("a job has a " + v.Kind().String() + " now; teach fill about it")
	}
}

// Every field of a job arrives, also those that others add later: they have to name
// them in workerwire.Job.
func TestX1EveryFieldOfAJobCrosses(t *testing.T) {
	t.Parallel()
	var want lineshaft.Job
	fill(reflect.ValueOf(&want).Elem(), new(int))
	raw, err := json.Marshal(workerwire.ClaimAnswer{Jobs: []workerwire.Job{workerwire.JobOf(want)}})
	if err != nil {
		t.Fatal(err)
	}
	var answer workerwire.ClaimAnswer
	if err := json.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	got := answer.Jobs[0].Job()
	if !reflect.DeepEqual(got, want) {
		a, b := reflect.ValueOf(got), reflect.ValueOf(want)
		for i := range a.NumField() {
			if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
				t.Errorf("field %s does not cross whole; see workerwire.JobOf and Job.Job", a.Type().Field(i).Name)
			}
		}
	}
	if string(got.Prepare.GitCredentials) == "" || got.Prepare.GitCredentials != want.Prepare.GitCredentials {
		t.Error("the git credentials do not cross")
	}
	empty := workerwire.JobOf(lineshaft.Job{}).Job()
	if !reflect.DeepEqual(empty, lineshaft.Job{}) {
		t.Errorf("an empty job is not empty any more: %+v", empty)
	}
}

func TestX3EveryFieldOfAReportCrosses(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_000, time.UTC)
	want := lineshaft.Report{
		ExecutionRef: lineshaft.ExecutionRef{ExecutionID: "e", Token: "t"}, First: 7, Started: true, Blocked: true, Unblocked: true,
		Events: []lineshaft.Draft{{Type: lineshaft.EventOutput, Time: at, Data: json.RawMessage(`{"text":"\u0000"}`)}},
	}
	raw, err := json.Marshal(workerwire.ReportOf(want))
	if err != nil {
		t.Fatal(err)
	}
	var wire workerwire.Report
	if err := json.Unmarshal(raw, &wire); err != nil || !reflect.DeepEqual(wire.Report(), want) {
		t.Errorf("%+v, %v", wire.Report(), err)
	}
}

// An event that is no JSON must not hold up those around it.
func TestX3AnEventThatCannotBeSentIsLeftEmpty(t *testing.T) {
	t.Parallel()
	for _, data := range []string{"", "{", "\"\xff\""} {
		raw, err := json.Marshal(workerwire.ReportOf(lineshaft.Report{Events: []lineshaft.Draft{{Type: "x", Data: json.RawMessage(data)}}}))
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		var wire workerwire.Report
		if err := json.Unmarshal(raw, &wire); err != nil || len(wire.Events) != 1 || wire.Events[0].Data != nil {
			t.Errorf("%q: %s, %v", data, raw, err)
		}
	}
}

func TestX1ErrorsCross(t *testing.T) {
	t.Parallel()
	if workerwire.ErrorOf(nil) != nil || (*workerwire.Error)(nil).Err() != nil {
		t.Error("no error becomes one")
	}
	for _, err := range []error{lineshaft.Conflict("gone"), lineshaft.Invalid("f", "bad"), fmt.Errorf("wrapped: %w", lineshaft.NotFound("run", "x"))} {
		got := workerwire.ErrorOf(err).Err()
		if lineshaft.CodeOf(got) != lineshaft.CodeOf(err) {
			t.Errorf("%v became %v", err, got)
		}
	}
	if got := workerwire.ErrorOf(errors.New("password in the query")); got.Code != lineshaft.CodeInternal || strings.Contains(got.Message, "password") {
		t.Errorf("%+v", got)
	}
}

func TestX1UploadHeader(t *testing.T) {
	t.Parallel()
	want := workerwire.UploadRequest{
		Process: workerwire.Process{Host: "h", ID: "h/p"}, ExecutionRef: lineshaft.ExecutionRef{ExecutionID: "e", Token: "secret"},
		Upload: lineshaft.Upload{Kind: lineshaft.BlobArtifact, FileName: "bär\n.txt", FilePath: "a/bär.txt", MimeType: "text/plain"},
	}
	value, err := workerwire.EncodeUpload(want)
	if err != nil || strings.ContainsAny(value, "\r\n ") {
		t.Fatal(value, err)
	}
	got, err := workerwire.DecodeUpload(value)
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", "%", "bm8ganNvbg", value + "!"} {
		if _, err := workerwire.DecodeUpload(bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
