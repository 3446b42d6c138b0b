package callback_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client/callback"
)

// Answer callbacks. Everything that is not authentic is answered with 401.
func Example() {
	verifier, err := callback.New("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", // from an environment variable
		callback.WithClock(func() time.Time { return time.Unix(1614265330, 0) })) // only for this example
	if err != nil {
		fmt.Println(err)
		return
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		event, err := verifier.Read(r)
		if err != nil {
			http.Error(w, "not a callback", http.StatusUnauthorized)
			return
		}
		fmt.Println(event.ID, event.Data.RunID, event.Data.State) // do the work once per ID
		w.WriteHeader(http.StatusNoContent)
	}

	// A server sends:
	req := httptest.NewRequest(http.MethodPost, "/callbacks", strings.NewReader(`{"type":"run.state_changed","timestamp":"2021-02-25T15:02:10Z","data":`+
		`{"event_id":"evt_1","sequence":9,"run_id":"run_1","state":"SUCCEEDED","title":"Mend the build","created_at":"2021-02-25T15:00:00Z","url":"https://lineshaft.example.com/runs/run_1"}}`))
	req.Header.Set("Webhook-Id", "evt_1")
	req.Header.Set("Webhook-Timestamp", "1614265330")
	req.Header.Set("Webhook-Signature", "v1,hGU/iPUdbzkrxh3pXEvyM6B+kuC2blszQcryqfjhrVg=")
	answer := httptest.NewRecorder()
	handler(answer, req)
	fmt.Println(answer.Code)
	// Output:
	// evt_1 run_1 SUCCEEDED
	// 204
}
