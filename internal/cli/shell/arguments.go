package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/config"
)

// What the server takes; more is refused here, before it is sent.
const (
	MaxStdin       = 1 << 20
	maxAttachments = 5
	maxAttached    = 10 << 20
)

// ParsePairs reads KEY=VALUE flags.
func ParsePairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	pairs := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, Usage(fmt.Sprintf("--%s %q has no value", flag, text), fmt.Sprintf("Write: --%s KEY=VALUE", flag))
		}
		if key == "" {
			return nil, Usage(fmt.Sprintf("--%s %q has no key", flag, text), fmt.Sprintf("Write: --%s KEY=VALUE", flag))
		}
		if _, twice := pairs[key]; twice {
			return nil, Usage(fmt.Sprintf("--%s gives %q twice", flag, key), "Give each key once.")
		}
		pairs[key] = value
	}
	return pairs, nil
}

// ReadAttachments reads the files of --file.
func ReadAttachments(paths []string) ([]client.Attachment, error) {
	if len(paths) > maxAttachments {
		return nil, Usage(fmt.Sprintf("%d files; at most %d can be attached", len(paths), maxAttachments), "Put them into one archive.")
	}
	var list []client.Attachment
	total, seen := 0, map[string]bool{}
	for _, path := range paths {
		data, err := readFile(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		if seen[name] {
			return nil, Usage(fmt.Sprintf("two files are named %s", name), "Rename one: they go into the same directory.")
		}
		seen[name] = true
		if total += len(data); total > maxAttached {
			return nil, Usage(fmt.Sprintf("the files have more than %d bytes in total", maxAttached),
				"Attach less, or let the agent fetch them.")
		}
		list = append(list, client.Attachment{FileName: name, MimeType: mimeType(name, data), Data: data})
	}
	return list, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, Usage(fmt.Sprintf("cannot read the file: %v", err), "Check the name given with --file.")
	}
	if !info.Mode().IsRegular() {
		return nil, Usage(path+" is not a file", "Attach single files; pack a directory into an archive.")
	}
	if info.Size() > maxAttached {
		return nil, Usage(fmt.Sprintf("%s has more than %d bytes", path, maxAttached), "Attach less, or let the agent fetch it.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, Usage(fmt.Sprintf("cannot read the file: %v", err), "Check the name given with --file.")
	}
	return data, nil
}

func mimeType(name string, data []byte) string {
	if kind := mime.TypeByExtension(filepath.Ext(name)); kind != "" {
		return kind
	}
	return http.DetectContentType(data)
}

// ParseMCP reads tool servers: NAME=URL, NAME=COMMAND ARGS, or a JSON object as
// configuration files of agents have it, with or without "mcpServers" around it.
func ParseMCP(list []string) (map[string]client.MCPServer, error) {
	if len(list) == 0 {
		return nil, nil // an empty table would replace the servers of wider settings by none
	}
	servers := map[string]client.MCPServer{}
	for _, text := range list {
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			some, err := mcpObject(text)
			if err != nil {
				return nil, err
			}
			maps.Copy(servers, some)
			continue
		}
		name, rest, ok := strings.Cut(text, "=")
		words, err := config.SplitWords(rest)
		if !ok || name == "" || err != nil || len(words) == 0 {
			return nil, Usage(fmt.Sprintf("--mcp %q is not a tool server", text),
				"Write --mcp NAME=https://…, --mcp NAME='COMMAND ARGS' or --mcp '{\"NAME\": {\"command\": \"…\"}}'.")
		}
		if strings.HasPrefix(rest, "http://") || strings.HasPrefix(rest, "https://") {
			servers[name] = client.MCPServer{URL: rest}
		} else {
			servers[name] = client.MCPServer{Command: words[0], Args: words[1:]}
		}
	}
	return servers, nil
}

func mcpObject(text string) (map[string]client.MCPServer, error) {
	var wrapped struct {
		Servers map[string]client.MCPServer `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(text), &wrapped); err == nil && wrapped.Servers != nil {
		return wrapped.Servers, nil
	}
	var servers map[string]client.MCPServer
	if err := json.Unmarshal([]byte(text), &servers); err != nil {
		return nil, Usage(fmt.Sprintf("--mcp is not valid JSON: %v", err), `Write --mcp '{"NAME": {"command": "…", "args": ["…"]}}'.`)
	}
	return servers, nil
}

// ParseTime reads a date, a time, or how long before (or, with ahead, after) now.
func ParseTime(flag, text string, now time.Time, ahead bool) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, Usage(fmt.Sprintf("--%s %q is not a time", flag, text),
			fmt.Sprintf("Write --%s 12h, --%s 30d, or a date such as 2026-01-31.", flag, flag))
	}
	if ahead {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	return now.Add(-d).UTC(), nil
}

// TextFile reads a file, or standard input for "-".
func (sh *Shell) TextFile(path string) (string, error) {
	if path == "-" {
		return sh.TextOrStdin(path)
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return "", Usage(path+" is a folder", "Name a file in it; - reads standard input.")
	}
	if err == nil && info.Size() > MaxStdin {
		return "", Usage(fmt.Sprintf("%s has more than %d bytes", path, MaxStdin), "Shorten it.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", Usage(fmt.Sprintf("cannot read the file: %v", err), "Check its name; - reads standard input.")
	}
	return string(data), nil
}

// jsonMistake says where text stops to be JSON, and why; empty if it does not.
func jsonMistake(text string) string {
	var whole json.RawMessage
	err := json.Unmarshal([]byte(text), &whole)
	if err == nil {
		return ""
	}
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err.Error()
	}
	before := text[:min(max(int(wrong.Offset)-1, 0), len(text))]
	line := strings.Count(before, "\n")
	column := utf8.RuneCountInString(before[strings.LastIndex(before, "\n")+1:])
	return fmt.Sprintf("line %d, column %d: %s", line+1, column+1, wrong.Error())
}

// JSONOrFile reads a flag that holds JSON, or @ and the name of a file with it.
func (sh *Shell) JSONOrFile(flag, text string) (json.RawMessage, error) {
	return sh.JSONFrom("--"+flag, fmt.Sprintf(`Write --%s '{"action": ["opened"]}' with quotes around the whole, or --%s @FILE.`, flag, flag), text)
}

// JSONFrom is jsonOrFile for text that comes from elsewhere, with what to do about a mistake.
func (sh *Shell) JSONFrom(from, hint, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	if path, ok := strings.CutPrefix(text, "@"); ok {
		var err error
		from = path
		if text, err = sh.TextFile(path); err != nil {
			return nil, err
		}
	}
	if place := jsonMistake(text); place != "" {
		return nil, Usage(fmt.Sprintf("%s is not JSON: %s", from, place), hint)
	}
	return json.RawMessage(text), nil
}

// OverlapSeconds reads how long an old secret stays.
func OverlapSeconds(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, Usage("--overlap "+text+" is not a time", "Write --overlap 30m, 12h or 3d.")
	}
	if d > lineshaft.MaxOverlap {
		return 0, Usage("--overlap "+text+" is more than 3d", "An old secret stays valid for three days at most.")
	}
	return int(d.Seconds()), nil
}

// TextOrStdin returns an argument, or what comes on standard input for "-".
func (sh *Shell) TextOrStdin(arg string) (string, error) {
	if arg != "-" {
		return arg, nil
	}
	if sh.TerminalIn() != nil { // nobody would know that it waits
		fmt.Fprintln(sh.Err, "-- type the text; Ctrl-D on its own line ends it")
	}
	data, err := io.ReadAll(io.LimitReader(sh.In, MaxStdin+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(data) > MaxStdin {
		return "", Usage(fmt.Sprintf("standard input is larger than %d bytes", MaxStdin),
			"Attach it with --file and say in the prompt what to do with it.")
	}
	if strings.TrimSpace(string(data)) == "" {
		return "", Usage("standard input is empty", "Pipe the text in, such as: lineshaft run - < task.md")
	}
	return string(data), nil
}

// ParseStates reads --state, which is repeated or has commas.
func ParseStates(list []string) (states []client.RunState, err error) {
	for _, words := range list {
		for word := range strings.SplitSeq(words, ",") {
			state, err := parseState(strings.TrimSpace(word))
			if err != nil {
				return nil, err
			}
			states = append(states, state)
		}
	}
	return states, nil
}

// StateWords are the states of runs as people write them.
func StateWords() (words []string) {
	for _, s := range client.RunStates() {
		words = append(words, strings.ToLower(string(s)))
	}
	return words
}

func parseState(word string) (client.RunState, error) {
	state := client.RunState(strings.ToUpper(strings.NewReplacer("_", "", "-", "").Replace(word)))
	if slices.Contains(client.RunStates(), state) {
		return state, nil
	}
	return "", Usage(fmt.Sprintf("--state %q is not a state", word),
		DidYouMean(strings.ToLower(word), StateWords())+"States are: "+strings.Join(StateWords(), ", ")+".")
}

// SecretRefs are secrets by their names; an empty name means none.
func SecretRefs(names []string) (refs []client.SecretRef) {
	for _, name := range WithoutEmpty(names) {
		refs = append(refs, client.SecretRef{Name: name})
	}
	return refs
}

// WithoutEmpty leaves out the empty text that means none.
func WithoutEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool { return text == "" })
}
