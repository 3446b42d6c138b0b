package lineshaft_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// TestX15EveryFieldIsDecided asks, field by field, for something that the parent does
// not have: a field that nobody has decided about would show here.
func TestX15EveryFieldIsDecided(t *testing.T) {
	t.Parallel()
	free := map[string]bool{"Name": true, "BasePrompt": true, "Concurrency": true, "Budget": true} // a budget where there is none is narrower
	for i := range reflect.TypeFor[lineshaft.AgentConfig]().NumField() {
		var asked lineshaft.AgentConfig
		field := reflect.TypeFor[lineshaft.AgentConfig]().Field(i)
		fillAny(reflect.ValueOf(&asked).Elem().Field(i))
		_, _, err := lineshaft.NarrowConfig(lineshaft.AgentConfig{}, asked, lineshaft.ChildAllowance{})
		if (err == nil) != free[field.Name] || err != nil && strings.Contains(err.Error(), "decided") {
			t.Errorf("%s: %v", field.Name, err)
		}
	}
}

// fillAny gives a value something that is more than nothing.
func fillAny(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("more")
	case reflect.Int, reflect.Int64:
		v.SetInt(1 << 20)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillAny(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillAny(v.Index(0))
	case reflect.Map:
		one := reflect.New(v.Type().Elem()).Elem()
		fillAny(one)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("more"), one)
	case reflect.Struct:
		for i := range v.NumField() {
			fillAny(v.Field(i))
		}
	default:
		panic("a kind of value that no configuration had yet: " + v.Kind().String())
	}
}

func TestX15WhatTheServerOffersToChildren(t *testing.T) {
	t.Parallel()
	parent := lineshaft.AgentConfig{ModelID: "m", Harness: &lineshaft.HarnessConfig{Type: "oz", Permissions: lineshaft.PermissionsAsk}}
	may := lineshaft.ChildAllowance{Harnesses: []string{"shell"}, Models: []string{"small"}}
	for name, test := range map[string]struct {
		asked lineshaft.AgentConfig
		want  lineshaft.HarnessConfig
		model string
	}{
		"nothing":         {lineshaft.AgentConfig{}, lineshaft.HarnessConfig{Type: "oz", Permissions: lineshaft.PermissionsAsk}, "m"},
		"another harness": {lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "shell"}}, lineshaft.HarnessConfig{Type: "shell", Permissions: lineshaft.PermissionsAsk}, "m"},
		"its other name":  {lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "builtin"}}, lineshaft.HarnessConfig{Type: "oz", Permissions: lineshaft.PermissionsAsk}, "m"},
		"another model":   {lineshaft.AgentConfig{ModelID: "small"}, lineshaft.HarnessConfig{Type: "oz", Permissions: lineshaft.PermissionsAsk}, "small"},
		"stricter": {
			lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Permissions: lineshaft.PermissionsDeny}}, lineshaft.HarnessConfig{Type: "oz", Permissions: lineshaft.PermissionsDeny}, "m",
		},
	} {
		got, origins, err := lineshaft.NarrowConfig(parent, test.asked, may)
		if err != nil || !reflect.DeepEqual(*got.Harness, test.want) || got.ModelID != test.model {
			t.Errorf("%s: %+v %+v %v", name, got, got.Harness, err)
		}
		if want := map[bool]string{true: "run", false: "parent"}[test.asked.ModelID != ""]; origins["model_id"] != want {
			t.Errorf("%s: %v", name, origins)
		}
	}
	plain := lineshaft.AgentConfig{WorkerHost: lineshaft.HostedWorker}
	for host, fine := range map[string]bool{lineshaft.HostedWorker: true, "box": false} { // which has a default of its own
		plain.WorkerHost = host
		_, _, err := lineshaft.NarrowConfig(plain, lineshaft.AgentConfig{Harness: &lineshaft.HarnessConfig{Type: "builtin"}}, lineshaft.ChildAllowance{DefaultHarness: "oz"})
		if (err == nil) != fine {
			t.Errorf("the default harness on %s: %v", host, err)
		}
	}
	for _, harness := range []lineshaft.HarnessConfig{{Type: "command"}, {Type: "shell", Permissions: lineshaft.PermissionsAllow}, {Type: "shell", ModelID: "dear"}, {Type: "shell", Command: []string{"sh"}}} {
		if _, _, err := lineshaft.NarrowConfig(parent, lineshaft.AgentConfig{Harness: &harness}, may); err == nil {
			t.Errorf("%+v was taken", harness)
		}
	}
}

// TestX15AnEmptyListIsNone lets a child have nothing of a kind at all.
func TestX15AnEmptyListIsNone(t *testing.T) {
	t.Parallel()
	parent := lineshaft.AgentConfig{Secrets: []string{"A"}, MCPServers: map[string]lineshaft.MCPServer{"t": {Command: "c"}}, Skills: []string{"s"}}
	same, _, err := lineshaft.NarrowConfig(parent, lineshaft.AgentConfig{}, lineshaft.ChildAllowance{})
	if err != nil || len(same.Secrets) != 1 || len(same.MCPServers) != 1 || len(same.Skills) != 0 {
		t.Errorf("%+v %v", same, err)
	}
	none, _, err := lineshaft.NarrowConfig(parent, lineshaft.AgentConfig{Secrets: []string{}, MCPServers: map[string]lineshaft.MCPServer{}}, lineshaft.ChildAllowance{})
	if err != nil || len(none.Secrets) != 0 || len(none.MCPServers) != 0 {
		t.Errorf("%+v %v", none, err)
	}
}
