package lineshaft

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// ParentOrigin is the layer of what a child run has from the run that started it.
const ParentOrigin = "parent"

// ChildAllowance is what the operator lets agents give to their children besides what
// they have themselves.
type ChildAllowance struct {
	// Harnesses are harness types, and Models the ids of models.
	Harnesses, Models []string
	// DefaultHarness drives runs on the server's own workers that name none.
	DefaultHarness string
}

// NarrowConfig makes the configuration of a child that an agent starts: the parent's
// resolved one, which the request may reduce but not extend. The error names the
// first field that asks for more. Origins shows for each value whether the request or
// the parent gave it.
func NarrowConfig(parent, asked AgentConfig, may ChildAllowance) (AgentConfig, map[string]string, error) {
	n := narrowing{parent: parent, asked: asked, may: may, out: parent, origins: map[string]string{}}
	request, out := reflect.ValueOf(asked), reflect.ValueOf(&n.out).Elem()
	rules := narrowRules()
	for i := range request.NumField() {
		field := request.Type().Field(i)
		rule, known := rules[field.Name]
		if !known {
			tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			rule = narrowRule{name: tag, take: func(*narrowing) string { return "what a child may ask for here has not been decided" }}
		}
		origin := runLayer
		switch {
		case !request.Field(i).IsZero():
			if n.field = rule.name; rule.take != nil {
				if reason := rule.take(&n); reason != "" {
					return AgentConfig{}, nil, n.refusal(reason)
				}
			}
		case rule.own:
			out.Field(i).SetZero()
		default:
			origin = ParentOrigin
		}
		if !rule.listed && !out.Field(i).IsZero() {
			n.origins[rule.name] = origin
		}
	}
	for _, name := range n.out.Secrets {
		n.origins[SecretOrigin(name)] = ParentOrigin
	}
	for name := range n.out.MCPServers {
		n.origins["mcp_servers."+name] = ParentOrigin
	}
	if n.out.AuthSecret() != "" {
		n.origins[AuthOrigin] = ParentOrigin
	}
	return n.out, n.origins, nil
}

// runLayer is the origin of what a run's own request says.
const runLayer = "run"

// narrowing is one call of NarrowConfig.
type narrowing struct {
	parent, asked, out AgentConfig
	may                ChildAllowance
	origins            map[string]string
	field              string // that a refusal names
}

// narrowRule decides one field of a child's configuration.
type narrowRule struct {
	name string
	// take puts what was asked for into the child's configuration, or says why not. Nil
	// is for values that were checked already and do not grant any right.
	take func(*narrowing) (reason string)
	// own values are never the parent's.
	own bool
	// listed values have an origin for each entry.
	listed bool
}

// narrowRules has a rule for each field of AgentConfig, by its name in Go. A field
// without one is refused, and a test asks for its rule.
func narrowRules() map[string]narrowRule {
	return map[string]narrowRule{
		// Words do not grant rights: an agent can say the same in the prompt.
		"Name":       {name: "name", own: true, take: func(n *narrowing) string { n.out.Name = n.asked.Name; return "" }},
		"BasePrompt": {name: "base_prompt", take: func(n *narrowing) string { n.out.BasePrompt = n.asked.BasePrompt; return "" }},

		"ModelID":       {name: "model_id", take: narrowModel},
		"EnvironmentID": {name: "environment_id", take: same(func(c *AgentConfig) *string { return &c.EnvironmentID })},
		"WorkerHost":    {name: "worker_host", take: same(func(c *AgentConfig) *string { return &c.WorkerHost })},
		"RunnerID":      {name: "runner_id", take: same(func(c *AgentConfig) *string { return &c.RunnerID })},
		"Harness":       {name: "harness", take: narrowHarness},

		// A skill is a prompt: the child of a run with one has a prompt of its own.
		"Skills":     {name: "skills", own: true, take: subset(func(c *AgentConfig) *[]string { return &c.Skills })},
		"Secrets":    {name: "secrets", listed: true, take: subset(func(c *AgentConfig) *[]string { return &c.Secrets })},
		"MCPServers": {name: "mcp_servers", listed: true, take: narrowServers},

		"IdleTimeoutMinutes":  {name: "idle_timeout_minutes", take: atMost(DefaultIdleMinutes, func(c *AgentConfig) **int { return &c.IdleTimeoutMinutes })},
		"TimeoutMinutes":      {name: "timeout_minutes", take: atMost(DefaultTimeoutMinutes, func(c *AgentConfig) **int { return &c.TimeoutMinutes })},
		"StallMinutes":        {name: "stall_minutes", take: atMost(DefaultStallMinutes, func(c *AgentConfig) **int { return &c.StallMinutes })},
		"QueueTimeoutMinutes": {name: "queue_timeout_minutes", take: atMost(DefaultQueueMinutes, func(c *AgentConfig) **int { return &c.QueueTimeoutMinutes })},
		"MaxAttempts":         {name: "retry.max_attempts", take: atMost(1, func(c *AgentConfig) **int { return &c.MaxAttempts })},
		"Budget":              {name: "budget", take: narrowBudget},
		"ComputerUseEnabled":  {name: "computer_use_enabled", take: narrowComputerUse},
		"ComputerUseModelID":  {name: "computer_use_model_id", take: same(func(c *AgentConfig) *string { return &c.ComputerUseModelID })},

		// Keys of children are apart from all others, and the parent has its own.
		"Concurrency": {name: "concurrency", own: true, take: func(n *narrowing) string { n.out.Concurrency = n.asked.Concurrency; return "" }},
	}
}

func (n *narrowing) refusal(reason string) *Error {
	denied := Denied("a child run can do no more than its parent: %s; leave %s out", reason, n.field)
	denied.Field = "config." + n.field
	return denied
}

// same allows what the parent has and nothing else.
func same(of func(*AgentConfig) *string) func(*narrowing) string {
	return func(n *narrowing) string {
		if *of(&n.asked) != *of(&n.parent) {
			return "this is not the one of its parent"
		}
		return ""
	}
}

// subset allows some of what the parent has; an empty list is none.
func subset(of func(*AgentConfig) *[]string) func(*narrowing) string {
	return func(n *narrowing) string {
		for _, name := range *of(&n.asked) {
			if !slices.Contains(*of(&n.parent), name) {
				return "its parent does not have " + Clip(name, 128)
			}
		}
		*of(&n.out) = *of(&n.asked)
		return ""
	}
}

// atMost allows a number that is not above the parent's, which is the default in runs
// of servers that did not store it.
func atMost(otherwise int, of func(*AgentConfig) **int) func(*narrowing) string {
	return func(n *narrowing) string {
		bound := otherwise
		if has := *of(&n.parent); has != nil {
			bound = *has
		}
		if **of(&n.asked) > bound {
			return "this is more than its parent has"
		}
		*of(&n.out) = *of(&n.asked)
		return ""
	}
}

func narrowModel(n *narrowing) string {
	if n.parent.ModelID == "" && n.asked.ModelID == n.parent.Model() {
		return "" // the harness has it, and the child has the harness
	}
	if reason := n.model(n.asked.ModelID, n.parent.ModelID); reason != "" {
		return reason
	}
	n.out.ModelID = n.asked.ModelID
	return ""
}

func (n *narrowing) model(asked, parent string) string {
	if asked == "" || asked == parent || slices.Contains(n.may.Models, asked) {
		return ""
	}
	return "this is another model than its parent's, and not among the server's --child-models"
}

// narrowHarness allows the parent's harness with a policy that is as strict, or one
// that the server offers to children.
func narrowHarness(n *narrowing) string {
	var parent HarnessConfig
	if n.parent.Harness != nil {
		parent = *n.parent.Harness
	}
	asked := *n.asked.Harness
	known := HarnessConfig{
		Type: asked.Type, ModelID: asked.ModelID, ReasoningLevel: asked.ReasoningLevel, Command: asked.Command, Mode: asked.Mode, Permissions: asked.Permissions,
		Auth: asked.Auth,
	}
	if !reflect.DeepEqual(known, asked) {
		return "what a child may ask for here has not been decided"
	}
	n.field = "harness.permissions"
	if asked.Permissions != "" && strictness(asked.Permissions) < strictness(parent.Permissions) {
		return "this lets it do more without being asked"
	}
	n.field = "harness.model_id"
	if reason := n.model(asked.ModelID, parent.ModelID); reason != "" {
		return reason
	}
	out := parent
	// What a parent that names no harness has is the server's default, on its own workers.
	same := sameHarness(asked.Type, parent.Type) || parent.Type == "" && n.parent.WorkerHost == HostedWorker && sameHarness(asked.Type, n.may.DefaultHarness)
	if asked.Type != "" && !same {
		if n.field = "harness.type"; !slices.Contains(n.may.Harnesses, asked.Type) {
			return "this is another agent than its parent's, and not among the server's --child-harnesses"
		}
		out = HarnessConfig{Type: asked.Type, Permissions: parent.Permissions} // as the server has it
	}
	for _, part := range []struct {
		name  string
		wider bool
	}{
		{"command", len(asked.Command) > 0 && !slices.Equal(asked.Command, out.Command)},
		{"mode", asked.Mode != "" && asked.Mode != out.Mode},
		{"reasoning_level", asked.ReasoningLevel != "" && asked.ReasoningLevel != out.ReasoningLevel},
		{"auth", asked.Auth != nil && !reflect.DeepEqual(asked.Auth, out.Auth)},
	} {
		if n.field = "harness." + part.name; part.wider {
			return "this is not the one of its parent"
		}
	}
	if asked.ModelID != "" {
		out.ModelID = asked.ModelID
	}
	if asked.Permissions != "" && asked.Permissions != PermissionsAllow { // the widest is left to the worker, as for the parent
		out.Permissions = asked.Permissions
	}
	n.out.Harness = &out
	return ""
}

// strictness orders the permission policies; saying nothing is the default.
func strictness(policy string) int {
	return slices.Index([]string{PermissionsAllow, PermissionsAsk, PermissionsDeny}, policy)
}

// builtinHarness is the built-in agent.
const builtinHarness = "builtin"

// sameHarness knows the two names of the built-in agent.
func sameHarness(a, b string) bool {
	builtin := func(name string) bool { return name == builtinHarness || name == "oz" }
	return a == b || builtin(a) && builtin(b)
}

// narrowServers allows tool servers that the parent has: as they are, as the parent's
// configuration is shown to readers, or by their address alone. The child gets them as
// the parent has them.
func narrowServers(n *narrowing) string {
	n.out.MCPServers = make(map[string]MCPServer, len(n.asked.MCPServers))
	for _, name := range slices.Sorted(maps.Keys(n.asked.MCPServers)) {
		asked := n.asked.MCPServers[name]
		has, found := n.parent.MCPServers[name]
		if n.field = "mcp_servers." + Clip(name, 80); !found {
			return "its parent does not have this tool server"
		}
		if !slices.ContainsFunc([]MCPServer{has, has.Shown(), has.address()}, asked.equal) {
			return "this differs from the parent's tool server"
		}
		n.out.MCPServers[name] = has
	}
	return ""
}

// address is a tool server without the values that it is given.
func (s MCPServer) address() MCPServer {
	s.Env, s.Headers = nil, nil
	return s
}

func (s MCPServer) equal(other MCPServer) bool {
	return s.Command == other.Command && s.URL == other.URL && s.WarpID == other.WarpID && slices.Equal(s.Args, other.Args) &&
		maps.Equal(s.Env, other.Env) && maps.Equal(s.Headers, other.Headers)
}

// narrowBudget allows limits that are not above the parent's. Where the request has no
// limit, the parent's holds.
func narrowBudget(n *narrowing) string {
	var parent Budget
	if n.parent.Budget != nil {
		parent = *n.parent.Budget
	}
	out := *n.asked.Budget
	for _, part := range []struct {
		name  string
		asked *int64
		bound int64
	}{{"max_tokens", &out.MaxTokens, parent.MaxTokens}, {"max_cost_usd", &out.MaxCostMicros, parent.MaxCostMicros}} {
		if n.field = "budget." + part.name; part.bound > 0 && *part.asked > part.bound {
			return "this is more than its parent has"
		}
		*part.asked = cmp.Or(*part.asked, part.bound)
	}
	n.out.Budget = &out
	return ""
}

func narrowComputerUse(n *narrowing) string {
	if *n.asked.ComputerUseEnabled && (n.parent.ComputerUseEnabled == nil || !*n.parent.ComputerUseEnabled) {
		return "its parent does not use a computer"
	}
	n.out.ComputerUseEnabled = n.asked.ComputerUseEnabled
	return ""
}

// SameConfig names the first field in which a request says something else than a
// resolved configuration; empty when it adds nothing to it.
func SameConfig(resolved, asked AgentConfig) (field string) {
	request, has := reflect.ValueOf(asked), reflect.ValueOf(resolved)
	for i := range request.NumField() {
		if request.Field(i).IsZero() || reflect.DeepEqual(request.Field(i).Interface(), has.Field(i).Interface()) {
			continue
		}
		tag, _, _ := strings.Cut(request.Type().Field(i).Tag.Get("json"), ",")
		return tag
	}
	return ""
}
