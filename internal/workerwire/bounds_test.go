package workerwire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// how much memory a body takes is known before it is decoded.
func TestX7BodiesAreBoundedBeforeTheyAreDecoded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		within     bool
	}{
		{"nothing", ``, true},
		{"no lists", `{"worker_host":"a,b[,[","result":{"state":"x","message":"\",[{,"}}`, true},
		{"two items", `{"held":[{"token":"a"},{"token":"b"}]}`, true},
		{"three items", `{"held":[{},{},{}]}`, false},
		{"three words", `{"known":["a","b","c"]}`, false},
		{"two lists", `{"held":[{},{}],"held":[{}]}`, false},
		{"many empty lists", `{"held":[],"held":[],"held":[]}`, false},
		{"three events", `{"reports":[{"events":[{},{},{}]}]}`, true},
		{"four events", `{"reports":[{"events":[{},{},{},{}]}]}`, false},
		{"four events of two reports", `{"reports":[{"events":[{},{}]},{"events":[{},{}]}]}`, false},
		{"lists within an event", `{"reports":[{"events":[{"data":{"x":[1,2,3,4,5,[6,7,8,9]]}}]}]}`, true},
		{"escapes", `{"held":[{"token":"\\"},{"token":"\\\""},{}]}`, false},
		{"spaces", "{ \"held\" :\n[ {} , {} , {} ] }", false},
		{"no JSON", `]]]]{"held":[{},{},{}]}`, true},
	} {
		if got := workerwire.Within([]byte(tc.body), 2, 3); got != tc.within {
			t.Errorf("%s: %t", tc.name, got)
		}
	}
	real, err := json.Marshal(workerwire.ReportRequest{Reports: []workerwire.Report{{Events: make([]workerwire.Event, 3)}}})
	if err != nil || !workerwire.Within(real, 1, 3) || workerwire.Within(real, 1, 2) {
		t.Errorf("what a worker sends is miscounted (%v): %s", err, real)
	}
	many := []byte(`{"reports":[` + strings.Repeat(`{},`, 5_000_000) + `{}]}`)
	if workerwire.Within(many, 10_000, 10_000) {
		t.Error("millions of reports are within")
	}
}
