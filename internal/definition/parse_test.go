package definition

import "testing"

// What is empty is the same as what is not said.
func TestF2EmptyIsNotSaid(t *testing.T) {
	t.Parallel()
	files := sound()
	files[factoryFile] += "\ndescription: ''\nrepositories: []\nsecrets: []\nmcpServers: {}\nagentDefaults: {skills: [], secrets: [], mcpServers: {a: {command: x, args: [], env: {}}}}\n"
	def, problems := Parse(files)
	again, _ := Parse(Render(def, nil))
	if d := difference(values(def), values(again)); len(problems) > 0 || d != "" {
		t.Errorf("%v %s", problems, d)
	}
}

func TestF2ExampleIsValid(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"acme", "Ünïcode: yes", "on"} {
		def, problems := Parse(Example(name))
		for _, p := range problems {
			t.Errorf("%+v", p)
		}
		if def.Factory.Name != name || def.Factory.Foreman != "foreman" || len(def.Automations) != 1 || def.Automations[0].Triggers[0].Schedule.Cron != "0 9 * * 1-5" {
			t.Errorf("read %+v", def)
		}
		again := Render(def, Files{})
		back, problems := Parse(again)
		if len(problems) > 0 || len(Compare(def, back)) > 0 {
			t.Errorf("%v\n%v %v", again, problems, Compare(def, back))
		}
	}
}
