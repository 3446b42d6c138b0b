package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/config"
)

// What the server takes; more is refused here, before it is sent.
const (
	maxStdin       = 1 << 20
	maxAttachments = 5
	maxAttached    = 10 << 20
)

// parsePairs reads KEY=VALUE flags.
func parsePairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	pairs := map[string]string{}
	for _, text := range list {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, usage(fmt.Sprintf("--%s %q has no value", flag, text), fmt.Sprintf("Write: --%s KEY=VALUE", flag))
		}
		if key == "" {
			return nil, usage(fmt.Sprintf("--%s %q has no key", flag, text), fmt.Sprintf("Write: --%s KEY=VALUE", flag))
		}
		if _, twice := pairs[key]; twice {
			return nil, usage(fmt.Sprintf("--%s gives %q twice", flag, key), "Give each key once.")
		}
		pairs[key] = value
	}
	return pairs, nil
}

// readAttachments reads the files of --file.
func readAttachments(paths []string) ([]client.Attachment, error) {
	if len(paths) > maxAttachments {
		return nil, usage(fmt.Sprintf("%d files; at most %d can be attached", len(paths), maxAttachments), "Put them into one archive.")
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
			return nil, usage(fmt.Sprintf("two files are named %s", name), "Rename one: they land in one directory.")
		}
		seen[name] = true
		if total += len(data); total > maxAttached {
			return nil, usage(fmt.Sprintf("the files have more than %d bytes together", maxAttached), "Attach less, or let the agent fetch them.")
		}
		list = append(list, client.Attachment{FileName: name, MimeType: mimeType(name, data), Data: data})
	}
	return list, nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("cannot read the file: %v", err), "Check the name given with --file.")
	}
	if !info.Mode().IsRegular() {
		return nil, usage(path+" is not a file", "Attach single files; pack a directory into an archive.")
	}
	if info.Size() > maxAttached {
		return nil, usage(fmt.Sprintf("%s has more than %d bytes", path, maxAttached), "Attach less, or let the agent fetch it.")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usage(fmt.Sprintf("cannot read the file: %v", err), "Check the name given with --file.")
	}
	return data, nil
}

func mimeType(name string, data []byte) string {
	if kind := mime.TypeByExtension(filepath.Ext(name)); kind != "" {
		return kind
	}
	return http.DetectContentType(data)
}

// parseMCP reads tool servers: NAME=URL, NAME=COMMAND ARGS, or a JSON object as
// configuration files of agents have it, with or without "mcpServers" around it.
func parseMCP(list []string) (map[string]client.MCPServer, error) {
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
			return nil, usage(fmt.Sprintf("--mcp %q is not a tool server", text), "Write --mcp NAME=https://…, --mcp NAME='COMMAND ARGS' or --mcp '{\"NAME\": {\"command\": \"…\"}}'.")
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
		return nil, usage(fmt.Sprintf("--mcp is not readable as JSON: %v", err), `Write --mcp '{"NAME": {"command": "…", "args": ["…"]}}'.`)
	}
	return servers, nil
}

// parseTime reads a date, a time, or how long before (or, with ahead, after) now.
func parseTime(flag, text string, now time.Time, ahead bool) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	d, err := config.ParseDuration(text)
	if err != nil || d < 0 {
		return time.Time{}, usage(fmt.Sprintf("--%s %q is not a time", flag, text), fmt.Sprintf("Write --%s 12h, --%s 30d, or a date such as 2026-01-31.", flag, flag))
	}
	if ahead {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	return now.Add(-d).UTC(), nil
}
