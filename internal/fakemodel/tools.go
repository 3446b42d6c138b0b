package fakemodel

import (
	"slices"
	"strings"
)

// shellNames are the tools that run commands, the likeliest first.
func shellNames() []string {
	return []string{"exec_command", "shell_command", "shell", "local_shell", "Bash", "bash", "run_shell_command", "run_command"}
}

func (t Tool) call(arguments any) Call {
	return Call{Name: t.Name, Namespace: t.Namespace, Arguments: at(arguments)}
}

// shell calls the tool that runs commands.
func (c Conversation) shell(command string) (Call, bool) {
	for _, name := range shellNames() {
		for _, tool := range c.Tools {
			if tool.Name == name {
				return tool.call(tool.command(command)), true
			}
		}
	}
	for _, tool := range c.Tools {
		properties := at(tool.Schema["properties"])
		if properties["command"] != nil || properties["cmd"] != nil {
			return tool.call(tool.command(command)), true
		}
	}
	return Call{}, false
}

// command shapes the arguments of a shell tool as its schema wants them.
func (t Tool) command(command string) any {
	values := object{"description": "run a command"}
	properties := at(t.Schema["properties"])
	for _, name := range []string{"command", "cmd"} {
		if at(properties[name])["type"] == "array" || t.Name == "local_shell" {
			values[name] = []any{"bash", "-lc", command}
		} else {
			values[name] = command
		}
	}
	if len(properties) == 0 {
		return object{"command": values["command"]}
	}
	return sample(t.Schema, values)
}

// plan calls the tool for plans with two steps, of which the first is being done.
func (c Conversation) plan() (Call, bool) {
	for _, tool := range c.Tools {
		name := strings.ToLower(tool.Name)
		if !strings.Contains(name, "todo") && !strings.Contains(name, "plan") {
			continue
		}
		for property, schema := range at(tool.Schema["properties"]) {
			item := at(at(schema)["items"])
			if len(at(item["properties"])) == 0 {
				continue
			}
			arguments := at(sample(tool.Schema, object{}))
			arguments[property] = []any{planStep(item, "read the task", "in_progress"), planStep(item, "do it", "pending")}
			return tool.call(arguments), true
		}
	}
	return Call{}, false
}

func planStep(schema object, text, state string) any {
	return sample(schema, object{
		"step": text, "content": text, "description": text, "text": text, "title": text, "activeForm": text, "id": text,
		"status": state, "state": state, "priority": "medium",
	})
}

// sample makes a value of a JSON schema. Properties that have a value get it; of
// the others only those that are needed are there.
func sample(schema, values object) any {
	if options := list(schema["enum"]); len(options) > 0 {
		return options[0]
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		if options := list(schema[word]); len(options) > 0 {
			return sample(at(options[0]), values)
		}
	}
	switch kind := strings.ToLower(kindOf(schema)); kind {
	case "object", "":
		return sampleObject(schema, values)
	case "array":
		return []any{}
	case "integer", "number":
		return 1
	case "boolean":
		return false
	default:
		return "x"
	}
}

func sampleObject(schema, values object) object {
	out := object{}
	for name, property := range at(schema["properties"]) {
		if value, ok := values[name]; ok {
			out[name] = value
		} else if slices.ContainsFunc(list(schema["required"]), func(item any) bool { return str(item) == name }) {
			out[name] = sample(at(property), values)
		}
	}
	return out
}

func kindOf(schema object) string {
	if kinds := list(schema["type"]); len(kinds) > 0 {
		return str(kinds[0])
	}
	return str(schema["type"])
}
