package definition

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// Problem is a mistake in a field of a part, with the place where the folder says it.
// The field is a path in the words of the files or of the API; a field that the folder
// does not have is blamed on what is around it.
func (d *Definition) Problem(kind Kind, name, field, message, hint string) lineshaft.FileProblem {
	at, found := findPlace(d.places, kind, name, strings.TrimPrefix(field, "config."))
	if !found {
		at = place{file: partFile(kind, name)}
	}
	return lineshaft.FileProblem{File: at.file, Line: at.line, Column: at.column, Message: message, Hint: hint}
}

// partFile is the place of a part in a folder that Render makes.
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

// foldPath makes one path of model_id and model, of secret_name and secretName. It leaves
// the fields of payloads alone: their letters count.
func foldPath(path string) string {
	head, payload := path, ""
	if at := strings.Index(path, ".payload"); at >= 0 {
		head, payload = path[:at], path[at:]
	}
	head = foldWord(head)
	for word, file := range otherWords {
		api := foldWord(word)
		if head == api || strings.HasSuffix(head, "agentdefaults."+api) {
			head = strings.TrimSuffix(head, api) + foldWord(file)
		}
	}
	return head + payload
}

func foldWord(word string) string { return strings.ToLower(strings.ReplaceAll(word, "_", "")) }

// otherWords are the keys that the API has another word for, not only another spelling.
var otherWords = map[string]string{"model_id": "model", "runner_id": "runner", "computer_use_model_id": "computerUseModel"}

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

// valuePath is the place of a value in a list. Where other values were refused, its index
// among the accepted ones is not its index in the file.
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

// keysByWord has the keys of all documents by the words that the API has for them. It
// takes the keys from the published schemas, which are those of the tables of keys.
var keysByWord = sync.OnceValue(func() map[string]string {
	keys := map[string]bool{}
	for _, text := range Schemas() {
		var document any
		if err := json.Unmarshal(text, &document); err == nil { // they are part of the program, and a test reads them
			addKeys(keys, document)
		}
	}
	words := map[string]string{}
	for key := range keys {
		word := upperCase.ReplaceAllStringFunc(key, func(letter string) string { return "_" + strings.ToLower(letter) })
		if !keys[word] {
			words[word] = key
		}
	}
	maps.Copy(words, otherWords)
	return words
})

var (
	upperCase = regexp.MustCompile(`[A-Z]`)
	snakeWord = regexp.MustCompile(`\b(config\.)?[a-z]+(_[a-z]+)+\b`)
)

// addKeys collects the properties of a schema and of all schemas in it.
func addKeys(keys map[string]bool, in any) {
	switch s := in.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for key := range properties {
			keys[key] = true
		}
		for _, part := range s {
			addKeys(keys, part)
		}
	case []any:
		for _, part := range s {
			addKeys(keys, part)
		}
	}
}

// fileWords puts the words of files into a text that has those of the API.
func fileWords(text string) string {
	return snakeWord.ReplaceAllStringFunc(text, func(word string) string {
		return cmp.Or(keysByWord()[strings.TrimPrefix(word, "config.")], word)
	})
}

// camelPath writes a path of the API as one of a file.
func camelPath(path string) string {
	if at := strings.Index(path, ".payload"); at >= 0 {
		return fileWords(path[:at]) + path[at:]
	}
	return fileWords(path)
}
