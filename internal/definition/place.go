package definition

import (
	"regexp"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Problem is a mistake in a field of a part, with the place where the folder says it.
// The field is a path in the words of the files or of the API; what the folder does
// not say is blamed on what is around it.
func (d *Definition) Problem(kind Kind, name, field, message, hint string) lineshaft.FileProblem {
	at, found := findPlace(d.places, kind, name, strings.TrimPrefix(field, "config."))
	if !found {
		at = place{file: partFile(kind, name)}
	}
	return lineshaft.FileProblem{File: at.file, Line: at.line, Column: at.column, Message: message, Hint: hint}
}

// partFile is where a part stands in a folder that Render makes.
func partFile(kind Kind, name string) string {
	switch kind {
	case KindAgent:
		return "agents/" + name + "/agent.md"
	case KindAutomation:
		return "automations/" + name + "/automation.md"
	case KindWebhook:
		return "webhooks/" + name + ".yaml"
	case KindRunner:
		return "runners/" + name + ".yaml"
	case KindSkill:
		if agent, own, ok := strings.Cut(name, "/"); ok {
			return "agents/" + agent + "/skills/" + own + "/SKILL.md"
		}
		return "skills/" + name + "/SKILL.md"
	case KindFactory, KindScorer, KindBenchmark:
	}
	return factoryFile
}

// skillName names a skill among all of a folder.
func skillName(s lineshaft.Skill) string {
	if s.Agent != "" {
		return s.Agent + "/" + s.Name
	}
	return s.Name
}

func placeKey(kind Kind, name, path string) string {
	if kind == KindFactory {
		name = ""
	}
	return string(kind) + "\x00" + name + "\x00" + foldPath(path)
}

// foldPath makes one path of model_id and model, of secret_name and secretName. The
// fields of payloads are left alone: their letters count.
func foldPath(path string) string {
	head, payload := path, ""
	if at := strings.Index(path, ".payload"); at >= 0 {
		head, payload = path[:at], path[at:]
	}
	head = strings.ToLower(strings.ReplaceAll(head, "_", ""))
	for api, file := range map[string]string{"modelid": "model", "runnerid": "runner"} {
		if head == api || strings.HasSuffix(head, "agentdefaults."+api) {
			head = strings.TrimSuffix(head, api) + file
		}
	}
	return head + payload
}

// findPlace looks for a path, then for what is around it.
func findPlace(places map[string]place, kind Kind, name, path string) (place, bool) {
	for {
		if at, ok := places[placeKey(kind, name, path)]; ok {
			return at, true
		}
		if path == "" {
			return place{}, false
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// valuePath is where a list has a value. Where others were refused, its index in what
// was read is not that of the file.
func valuePath(list, value string) string { return list + "\x00" + value }

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	if key == "" {
		return path
	}
	return path + "." + key
}

var snakeWord = regexp.MustCompile(`\b(config\.)?(agent_type|auth_mode|signature_scheme|secret_name|delivery_id_header|rate_limit|max_body_bytes|replay_guard|timestamp_header|id_header|max_runs_per_hour|warp_id|model_id|base_prompt|environment_id|runner_id|worker_host|mcp_servers|idle_timeout_minutes|timeout_minutes|stall_minutes|queue_timeout_minutes|max_attempts|max_tokens|reasoning_level)\b`)

// fileWords puts the words of files into a text that has those of the API.
func fileWords(text string) string { return snakeWord.ReplaceAllStringFunc(text, camelWord) }

func camelWord(word string) string {
	word = strings.TrimPrefix(word, "config.")
	switch word {
	case "model_id":
		return "model"
	case "runner_id":
		return "runner"
	}
	parts := strings.Split(word, "_")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}

// camelPath writes a path of the API as one of a file.
func camelPath(path string) string {
	if at := strings.Index(path, ".payload"); at >= 0 {
		return fileWords(path[:at]) + path[at:]
	}
	return fileWords(path)
}
