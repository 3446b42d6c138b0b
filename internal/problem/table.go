package problem

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/lineshaft/lineshaft"
)

// Row is what is known about one code: how it is answered and how it is explained.
type Row struct {
	Code lineshaft.Code
	// Status is the usual HTTP status; zero for codes that only ever appear in
	// the status message of a run.
	Status int
	Title  string
	// Retryable says that an error of this code is worth another try even if the
	// error itself does not say so.
	Retryable bool
	// Explanation and Fix are for the documentation page: what it means, and
	// what to do about it.
	Explanation string
	Fix         string
}

// Rows lists every code in the order of the documentation.
func Rows() []Row { return slices.Concat(callerRows(), serverRows(), runRows()) }

// Lookup finds the row of a code. A code that is not in the table is an
// oversight in the server, so it is answered like an internal error.
func Lookup(code lineshaft.Code) (Row, bool) {
	var internal Row
	for _, row := range Rows() {
		if row.Code == code {
			return row, true
		}
		if row.Code == lineshaft.CodeInternal {
			internal = row
		}
	}
	return internal, false
}

func callerRows() []Row {
	return []Row{
		{
			Code: lineshaft.CodeInvalidRequest, Status: http.StatusBadRequest, Title: "Invalid request",
			Explanation: "Something in the request cannot be understood: the body is not JSON, a value has the wrong type or is out of range, or the run is in a state in which the call makes no sense.",
			Fix:         "Read the detail: it begins with the path of the field to blame, such as config.name. Correct it and send the request again; sending the same one again will not help.",
		},
		{
			Code: lineshaft.CodeAuthenticationRequired, Status: http.StatusUnauthorized, Title: "Authentication required",
			Explanation: "The request carries no usable API key. A missing, malformed, unknown, expired and revoked key all get the same answer.",
			Fix:         "Send exactly one header \"Authorization: Bearer ls_…\". An administrator creates keys with \"lineshaft apikey create\" and can see in the list whether yours has expired or was revoked.",
		},
		{
			Code: lineshaft.CodeNotAuthorized, Status: http.StatusForbidden, Title: "Not authorized",
			Explanation: "The key is valid, but its role or its factories do not allow this call.",
			Fix:         "GET /api/v1/whoami shows what the key may do. Use a key with a wider role, or ask an administrator for one.",
		},
		{
			Code: lineshaft.CodeFeatureNotAvailable, Status: http.StatusForbidden, Title: "Feature not available",
			Explanation: "This server is configured without the feature that the request needs.",
			Fix:         "The detail names the feature. The server's administrator can enable it; \"lineshaft doctor\" shows what is missing.",
		},
		{
			Code: lineshaft.CodeBudgetExceeded, Status: http.StatusForbidden, Title: "Budget exceeded",
			Explanation: "A budget of tokens or money is spent. A run that crosses its own budget is stopped and fails with this code.",
			Fix:         "Raise config.budget for the run, or wait until the factory's daily budget starts over.",
		},
		{
			Code: lineshaft.CodeNotFound, Status: http.StatusNotFound, Title: "Resource not found",
			Explanation: "There is no such thing at this address, or your key may not see it. The answer is the same for both on purpose.",
			Fix:         "Check the id and the path against /api/v1/docs, and with GET /api/v1/whoami that your key reaches the factory.",
		},
		{
			Code: lineshaft.CodeMethodNotAllowed, Status: http.StatusMethodNotAllowed, Title: "Method not allowed",
			Explanation: "The path exists, but not with this HTTP method.",
			Fix:         "The Allow header of the answer lists the methods that this path takes.",
		},
		{
			Code: lineshaft.CodeConflict, Status: http.StatusConflict, Title: "Conflict",
			Explanation: "The thing is in a state that rules the call out: a name is taken, a limit is reached, something is in use, or someone else changed it at the same moment.",
			Fix:         "If the answer says retryable, try again. Otherwise do what the detail says first: the same request will fail again, as the header x-should-retry: false also says.",
		},
		{
			Code: lineshaft.CodePayloadTooLarge, Status: http.StatusRequestEntityTooLarge, Title: "Payload too large",
			Explanation: "The request body is larger than this path accepts: 16 MiB where a run or a follow-up is sent, 1 MiB elsewhere. Nothing past the limit was read.",
			Fix:         "Send less: at most 5 attachments of 10 MB together, and a prompt of at most 1 MiB. Larger inputs belong into a repository or a file the agent can fetch.",
		},
		{
			Code: lineshaft.CodeNotSupported, Status: http.StatusUnprocessableEntity, Title: "Operation not supported",
			Explanation: "The request is well formed, and the published API knows the field or operation, but this server does not offer it. It is refused rather than ignored, because ignoring it would do something other than you asked for.",
			Fix:         "Leave out the field that the detail names, or use another operation.",
		},
		{
			Code: lineshaft.CodeIdempotencyMismatch, Status: http.StatusUnprocessableEntity, Title: "Idempotency key reused",
			Explanation: "This Idempotency-Key was used within the last 24 hours for a request with another body.",
			Fix:         "Use a new key for a new request, and the same key only to send the very same bytes again.",
		},
	}
}

func serverRows() []Row {
	return []Row{
		{
			Code: lineshaft.CodeUnavailable, Status: http.StatusServiceUnavailable, Title: "Resource unavailable", Retryable: true,
			Explanation: "The server cannot answer now. With status 429 you have reached a limit, such as the rate limit of your key; with 503 a part of the server, usually its database, is unavailable.",
			Fix:         "Wait as long as the Retry-After header says and send the same request again. GET /readyz names the failing part.",
		},
		{
			Code: lineshaft.CodeInternal, Status: http.StatusInternalServerError, Title: "Internal error", Retryable: true,
			Explanation: "The server met something it did not expect. The cause is in its log and is not shown.",
			Fix:         "Try again. If it stays, give the trace_id of the answer to the server's administrator: the log line with the cause carries the same one.",
		},
		{
			Code: lineshaft.CodeEnvironmentSetupFailed, Status: http.StatusInternalServerError, Title: "Environment setup failed",
			Explanation: "The workspace of a run could not be prepared: a repository could not be cloned or a set-up command failed.",
			Fix:         "The events of the run show the output of the command. Fix the environment, then start the run again.",
		},
	}
}

func runRows() []Row {
	return []Row{
		{
			Code: lineshaft.CodeAgentProcessFailed, Title: "Agent process failed",
			Explanation: "The agent's process ended with an error. This code appears in the status message of a run that FAILED.",
			Fix:         "The last events of the run show what the agent wrote before it ended. Fix what it complains about and send a follow-up or start a new run.",
		},
		{
			Code: lineshaft.CodeRunTimeout, Title: "Run timed out",
			Explanation: "The run took longer than config.timeout_minutes, or showed no sign of progress for config.stall_minutes. It was stopped and FAILED.",
			Fix:         "Check the last events to see what it was doing. Raise the limit if the work takes long, or split it.",
		},
		{
			Code: lineshaft.CodeInfrastructureTimeout, Title: "Infrastructure timeout",
			Explanation: "No worker took the run within config.queue_timeout_minutes, or the worker that held it disappeared. The run ended in ERROR; the agent is not to blame.",
			Fix:         "GET /api/v1/agent/connected-self-hosted-workers shows which workers are connected. Start the worker that the run names, then submit the work again.",
		},
	}
}

// Fixed is an answer that tells nothing of the request it is given to: no path, no
// ids (H-4). Two requests that fail alike get the same bytes.
type Fixed struct {
	Status int
	Header http.Header
	Body   []byte
}

// Fix renders err once. Unlike Write it shows the message of a failed
// authentication, so the caller must choose one that fits every cause.
func (p *Writer) Fix(err error) Fixed {
	pub := public(err)
	row, known := Lookup(pub.Code)
	if !known || pub.Code == lineshaft.CodeInternal {
		pub.Message, pub.Field = internalText, ""
	}
	doc := Document{
		Type: p.address(row.Code), Title: row.Title, Status: statusOf(row, pub), Detail: detail(pub),
		Retryable: pub.Retryable || row.Retryable, Code: row.Code,
	}
	doc.Error = oneLine(doc)
	body, encErr := json.Marshal(doc)
	if encErr != nil { // strings and numbers always encode
		body = []byte(`{"status":500}`)
	}
	header := headers(doc, pub.RetryAfter)
	if doc.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="webhook"`)
	}
	header.Set("Content-Type", ContentType)
	header.Set("Cache-Control", "no-store")
	return Fixed{Status: doc.Status, Header: header, Body: body}
}

// Write answers with the fixed text.
func (f Fixed) Write(w http.ResponseWriter) {
	for name, values := range f.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write(f.Body) // nobody is left to tell
}
