package lineshaft

import (
	"cmp"
	"slices"
)

// mergeHarness puts the harness and the model of the layers together, part by part. The
// parts of a harness belong to one agent: a layer that names another agent inherits
// only the permission policy from wider layers, because that does not belong to any
// agent. The model of a layer that replaces others is that of the built-in agent, so it
// chooses this agent, and other agents do not inherit it.
func mergeHarness(out *AgentConfig, layers []Layer, origins map[string]string) {
	var m harnessMerge
	for _, layer := range slices.Backward(layers) {
		m.add(layer)
	}
	if out.ModelID = m.model.value; m.model.value != "" {
		origins["model_id"] = m.model.origin
	}
	if out.Harness = m.harness(); out.Harness != nil {
		m.tell(origins)
	}
}

// part is a value with the layer that gave it.
type part[T any] struct {
	value  T
	origin string
}

func (p *part[T]) set(value T, given bool, origin string) {
	if given {
		p.value, p.origin = value, origin
	}
}

// harnessMerge is what the layers said so far, the widest first.
type harnessMerge struct {
	kind, modelID, reasoning, mode, permissions part[string]
	command                                     part[[]string]
	auth                                        part[*HarnessAuth]
	// model is AgentConfig.ModelID; shared is what it was before any layer that replaces.
	model, shared part[string]
	// origin is the narrowest layer that said something but permissions.
	origin string
}

// add takes over what the next narrower layer says.
func (m *harnessMerge) add(layer Layer) {
	var h HarnessConfig
	if layer.Config.Harness != nil {
		h = *layer.Config.Harness
	}
	model := layer.Config.ModelID
	if h.Type == "" && model != "" && layer.Replaces && m.kind.value != "" && !sameHarness(m.kind.value, builtinHarness) {
		h.Type = builtinHarness
	}
	if h.Type != "" && !sameHarness(h.Type, m.kind.value) {
		*m = harnessMerge{permissions: m.permissions, model: m.model, shared: m.shared}
		if !sameHarness(h.Type, builtinHarness) {
			m.model = m.shared
		}
	}
	m.model.set(model, model != "", layer.Origin)
	if !layer.Replaces {
		m.shared.set(model, model != "", layer.Origin)
	}
	m.permissions.set(h.Permissions, h.Permissions != "", layer.Origin)
	if h.Permissions = ""; h.IsZero() {
		return
	}
	m.origin = layer.Origin
	m.kind.set(h.Type, h.Type != "", layer.Origin)
	m.modelID.set(h.ModelID, h.ModelID != "", layer.Origin)
	m.reasoning.set(h.ReasoningLevel, h.ReasoningLevel != "", layer.Origin)
	m.mode.set(h.Mode, h.Mode != "", layer.Origin)
	m.command.set(h.Command, len(h.Command) > 0, layer.Origin)
	m.auth.set(h.Auth, h.Auth != nil, layer.Origin)
}

// harness is the result; nil when nobody said anything.
func (m *harnessMerge) harness() *HarnessConfig {
	h := HarnessConfig{
		Type: m.kind.value, ModelID: m.modelID.value, ReasoningLevel: m.reasoning.value, Command: m.command.value, Mode: m.mode.value,
		Permissions: m.permissions.value, Auth: m.auth.value,
	}
	if h.ReasoningLevel == ReasoningDefault {
		h.ReasoningLevel = ""
	}
	if h.Auth != nil && *h.Auth == (HarnessAuth{}) {
		h.Auth = nil
	}
	if h.IsZero() {
		return nil
	}
	return &h
}

// tell notes the origin of the harness, and of parts that have another one.
func (m *harnessMerge) tell(origins map[string]string) {
	if m.origin != "" {
		origins["harness"] = m.origin
	}
	for name, origin := range map[string]string{
		"type": m.kind.origin, "model_id": m.modelID.origin, "reasoning_level": m.reasoning.origin, "mode": m.mode.origin,
		"command": m.command.origin, "auth": m.auth.origin, "permissions": m.permissions.origin,
	} {
		if origin != "" && (origin != m.origin || name == "permissions") {
			origins["harness."+name] = origin
		}
	}
}

// HarnessOf is the parts of a resolved harness that certain layers gave, by the origins that
// it was resolved with; nil when they gave none.
func (c AgentConfig) HarnessOf(origins map[string]string, layers ...string) *HarnessConfig {
	if c.Harness == nil {
		return nil
	}
	from, to := c.Harness, &HarnessConfig{}
	for name, keep := range map[string]func(){
		"type":            func() { to.Type = from.Type },
		"model_id":        func() { to.ModelID = from.ModelID },
		"reasoning_level": func() { to.ReasoningLevel = from.ReasoningLevel },
		"mode":            func() { to.Mode = from.Mode },
		"command":         func() { to.Command = from.Command },
		"auth":            func() { to.Auth = from.Auth },
		"permissions":     func() { to.Permissions = from.Permissions },
	} {
		if slices.Contains(layers, cmp.Or(origins["harness."+name], origins["harness"])) {
			keep()
		}
	}
	if to.IsZero() {
		return nil
	}
	return to
}
