package scriptserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
)

// expand writes out what scenarios keep short: {"$run": {…}} is a run with all fields
// that every run has, {"$problem": {…}} an error. What they name themselves wins.
func expand(text json.RawMessage) []byte {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // as it was written
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	out, err := json.Marshal(expandValue(value))
	if err != nil {
		return text
	}
	return out
}

func expandValue(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = expandValue(v[i])
		}
	case map[string]any:
		if own, ok := v["$run"].(map[string]any); ok {
			return plus(plainRun(own["run_id"]), own)
		}
		if own, ok := v["$problem"].(map[string]any); ok {
			return plus(plainProblem(own["status"]), own)
		}
		for name := range v {
			v[name] = expandValue(v[name])
		}
	}
	return value
}

func plus(base, own map[string]any) map[string]any {
	maps.Copy(base, own)
	return base
}

func plainRun(id any) map[string]any {
	if id == nil {
		id = "r1"
	}
	return map[string]any{
		"run_id": id, "task_id": id, "root_run_id": id, "title": "A run", "prompt": "Say hello", "state": "INPROGRESS",
		"created_at": "2026-01-02T03:04:05.000000Z", "updated_at": "2026-01-02T03:04:06.000000Z", "finished_at": nil,
		"status_message": map[string]any{"message": "working"}, "source": "API",
		"creator":            map[string]any{"type": "service_account", "uid": "sa_1", "display_name": "Key"},
		"execution_location": "REMOTE", "is_sandbox_running": false, "is_run_type_cancellable": true,
		"scope": map[string]any{"type": "Team"},
	}
}

func plainProblem(status any) map[string]any {
	number, _ := status.(json.Number)
	code, _ := number.Int64()
	title := http.StatusText(int(code))
	return map[string]any{
		"type": "https://lineshaft.example/docs/errors/scripted", "title": title, "status": status, "error": title,
		"retryable": false, "code": "scripted",
	}
}
