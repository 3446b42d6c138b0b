package acp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// fakeAgent is an agent of the protocol whose prompts are scripts: each line is an
// order, see perform. Its arguments make it odd in other ways. Sessions are files
// in its working directory, so that another process can load them.
type fakeAgent struct {
	flags []string
	out   *bufio.Writer

	mu       sync.Mutex // guards out and what follows
	session  string
	pending  map[string]chan json.RawMessage
	next     int
	cancels  chan struct{}
	loggedIn bool
	turns    sync.WaitGroup
}

type wireMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// runFakeAgent is the main function of the subprocess.
func runFakeAgent(flags []string) int {
	a := &fakeAgent{flags: flags, out: bufio.NewWriter(os.Stdout), pending: map[string]chan json.RawMessage{}, cancels: make(chan struct{}, 100)}
	if a.has("deaf") {
		signal.Ignore(syscall.SIGTERM)
	}
	if a.has("noisy") {
		a.raw("Welcome to the agent!")
		fmt.Fprintln(os.Stderr, "loading lsr_0123456789abcdefSECRET")
	}
	if a.has("mute") {
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1) // a program that waits for nothing is ended by its runtime
		<-never
	}
	if a.has("dies") {
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		return 3
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var m wireMessage
		if json.Unmarshal(line, &m) != nil {
			return 9
		}
		if m.Method == "" {
			var answer struct {
				Result json.RawMessage `json:"result"`
			}
			_ = json.Unmarshal(line, &answer)
			a.mu.Lock()
			if waiting := a.pending[string(m.ID)]; waiting != nil {
				waiting <- answer.Result
			}
			a.mu.Unlock()
			continue
		}
		a.request(m)
	}
}

func (a *fakeAgent) has(flag string) bool { return slices.Contains(a.flags, flag) }

func (a *fakeAgent) raw(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.WriteString(line + "\n")
	_ = a.out.Flush()
}

func (a *fakeAgent) send(messages ...wireMessage) {
	var lines []string
	for _, m := range messages {
		m.JSONRPC = "2.0"
		raw, err := json.Marshal(m)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(raw))
	}
	a.raw(strings.Join(lines, "\n"))
}

func (a *fakeAgent) reply(id json.RawMessage, result any) {
	a.send(wireMessage{ID: id, Result: result})
}

func (a *fakeAgent) refuse(id json.RawMessage, code int, message string, data any) {
	a.send(wireMessage{ID: id, Error: map[string]any{"code": code, "message": message, "data": data}})
}

func (a *fakeAgent) update(update any) { a.send(a.updated(update)) }

func (a *fakeAgent) updated(update any) wireMessage {
	params, _ := json.Marshal(map[string]any{"sessionId": a.session, "update": update})
	return wireMessage{Method: "session/update", Params: params}
}

func (a *fakeAgent) say(text string) { a.update(chunk(text)) }

func chunk(text string) any {
	return map[string]any{"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": text}}
}

func (a *fakeAgent) request(m wireMessage) {
	var p struct {
		Session  string          `json:"sessionId"`
		Cwd      string          `json:"cwd"`
		Servers  json.RawMessage `json:"mcpServers"`
		Client   json.RawMessage `json:"clientCapabilities"`
		Method   string          `json:"methodId"`
		ConfigID string          `json:"configId"`
		Value    string          `json:"value"`
		Mode     string          `json:"modeId"`
		Prompt   []struct {
			Text string `json:"text"`
		} `json:"prompt"`
	}
	_ = json.Unmarshal(m.Params, &p)
	switch m.Method {
	case "initialize":
		a.hello(m.ID, p.Client)
	case "authenticate":
		a.loggedIn = true
		fmt.Fprintln(os.Stderr, "authenticated with "+p.Method)
		a.reply(m.ID, map[string]any{})
	case "session/new":
		if a.has("auth") && !a.loggedIn {
			a.refuse(m.ID, -32000, "Authentication required", nil)
			return
		}
		a.session = "session-" + strconv.Itoa(os.Getpid())
		fmt.Fprintf(os.Stderr, "new in %s with %s\n", p.Cwd, p.Servers)
		_ = os.WriteFile(a.session, nil, 0o600)
		a.reply(m.ID, a.offer(a.session))
	case "session/load", "session/resume":
		a.load(m, p.Session)
	case "session/set_config_option":
		fmt.Fprintf(os.Stderr, "set %s=%s\n", p.ConfigID, p.Value)
		a.reply(m.ID, map[string]any{"configOptions": []any{}})
	case "session/set_mode":
		a.refuse(m.ID, -32602, "no such mode", nil)
	case "session/cancel":
		a.cancels <- struct{}{}
	case "session/prompt":
		a.turns.Go(func() { a.perform(m.ID, p.Prompt[0].Text) })
	default:
		if len(m.ID) > 0 {
			a.refuse(m.ID, -32601, "Method not found", nil)
		}
	}
}

func (a *fakeAgent) hello(id json.RawMessage, client json.RawMessage) {
	fmt.Fprintf(os.Stderr, "client can %s\n", client)
	can := map[string]any{"loadSession": a.has("load"), "mcpCapabilities": map[string]any{"http": a.has("http")}}
	if a.has("resume") {
		can["sessionCapabilities"] = map[string]any{"resume": map[string]any{}}
	}
	version := 1
	if a.has("future") {
		version = 7
	}
	a.reply(id, map[string]any{"protocolVersion": version, "agentCapabilities": can, "authMethods": []any{
		map[string]any{"id": "login", "name": "Log in"}, map[string]any{"id": "gemini-api-key", "name": "Key"},
	}})
}

func (a *fakeAgent) offer(id string) map[string]any {
	out := map[string]any{"modes": map[string]any{"currentModeId": "default", "availableModes": []any{map[string]any{"id": "yolo"}}}}
	if id != "" {
		out["sessionId"] = id
	}
	if a.has("options") {
		out["configOptions"] = []any{
			"odd",
			map[string]any{"id": "model", "category": "model", "type": "select", "currentValue": "x/small", "options": []any{
				map[string]any{"name": "group", "options": []any{map[string]any{"value": "x/big"}, map[string]any{"value": "x/small"}}},
			}},
			map[string]any{"id": "effort", "category": "thought_level", "type": "select", "currentValue": "low", "options": []any{map[string]any{"value": "high"}}},
		}
	}
	return out
}

func (a *fakeAgent) load(m wireMessage, id string) {
	history, err := os.ReadFile(id)
	if err != nil || a.has("forgetful") {
		a.refuse(m.ID, -32002, "no such session", nil)
		return
	}
	a.session = id
	fmt.Fprintln(os.Stderr, m.Method+" of "+id)
	if a.has("hasty") {
		a.reply(m.ID, a.offer(""))
	}
	if m.Method == "session/load" {
		for _, line := range strings.Split(string(history), "\n") {
			a.say("replayed " + line)
		}
	}
	if !a.has("hasty") {
		a.reply(m.ID, a.offer(""))
	}
}

// perform does the orders of a prompt and answers it.
func (a *fakeAgent) perform(id json.RawMessage, prompt string) {
	f, err := os.OpenFile(a.session, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		_, _ = f.WriteString(prompt + "\n")
		_ = f.Close()
	}
	answer := map[string]any{"stopReason": "end_turn"}
	var late []string
	for _, line := range strings.Split(prompt, "\n") {
		order, rest, _ := strings.Cut(line, " ")
		switch order {
		case "say":
			a.say(rest)
		case "think":
			a.update(map[string]any{"sessionUpdate": "agent_thought_chunk", "content": map[string]any{"type": "text", "text": rest}})
		case "update":
			a.update(json.RawMessage(rest))
		case "raw":
			a.raw(strings.ReplaceAll(rest, `\xff`, "\xff"))
		case "late":
			late = append(late, rest)
		case "stderr":
			fmt.Fprintln(os.Stderr, rest)
		case "big": // big BYTES: an update with a long text
			n, _ := strconv.Atoi(rest)
			a.say(strings.Repeat("x", n))
		case "bigreply":
			n, _ := strconv.Atoi(rest)
			answer["padding"] = strings.Repeat("x", n)
		case "many":
			n, _ := strconv.Atoi(rest)
			for i := range n {
				a.say(strconv.Itoa(i%10) + "\n")
			}
		case "ask":
			a.ask(rest)
		case "history":
			text, _ := os.ReadFile(a.session)
			a.say(string(text))
		case "spawn": // in a session of its own, as agents do
			cmd := exec.Command("/bin/sh", "-c", "exec sleep 1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			_ = cmd.Start()
			fmt.Fprintln(os.Stderr, "spawned")
		case "wait":
			fmt.Fprintln(os.Stderr, "waiting")
			<-a.cancels
			answer["stopReason"] = "cancelled"
		case "hang":
			fmt.Fprintln(os.Stderr, "hanging")
			select {}
		case "exit":
			code, _ := strconv.Atoi(rest)
			os.Exit(code)
		case "login":
			a.refuse(id, -32000, "Authentication required", nil)
			return
		case "fail":
			a.refuse(id, -32603, "Internal error", map[string]any{"details": rest})
			return
		case "answer":
			_ = json.Unmarshal([]byte(rest), &answer)
		case "pid":
			a.say(strconv.Itoa(os.Getpid()))
		}
	}
	last := []wireMessage{{ID: id, Result: answer}} // and what is late, in one write: the client waits for it for a moment only
	for _, text := range late {
		last = append(last, a.updated(chunk(text)))
	}
	a.send(last...)
	if strings.Contains(prompt, "\nleave") {
		os.Exit(0)
	}
}

// ask requests permission for a call and says the result.
func (a *fakeAgent) ask(id string) {
	a.mu.Lock()
	a.next++
	number := strconv.Itoa(a.next)
	answer := make(chan json.RawMessage, 1)
	a.pending[number] = answer
	a.mu.Unlock()
	options := []any{
		map[string]any{"optionId": "always", "name": "Yes, always", "kind": "allow_always"},
		map[string]any{"optionId": "once", "name": "Go", "kind": "allow_once"},
		map[string]any{"optionId": "no", "name": "Stop it", "kind": "reject_once"},
	}
	if a.has("optionless") {
		options = nil
	}
	params, _ := json.Marshal(map[string]any{
		"sessionId": a.session, "options": options,
		"toolCall": map[string]any{"toolCallId": id, "title": "rm -rf " + id, "kind": "execute", "status": "pending", "rawInput": map[string]any{"command": "rm"}},
	})
	a.send(wireMessage{ID: json.RawMessage(number), Method: "session/request_permission", Params: params})
	a.say("outcome " + string(<-answer) + "\n")
}
