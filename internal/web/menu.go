package web

import "github.com/lineshaft/lineshaft"

// menuGroup is a part of the menu with a heading of its own.
type menuGroup struct {
	Name  string
	Items []menuItem
}

type menuItem struct {
	Name string
	Href string
	Icon string
	// Here marks the section that is shown.
	Here bool
}

// menu lists what a role may open.
func menu(role lineshaft.Role, section string) []menuGroup {
	type entry struct {
		name, section string
		needs         lineshaft.Permission
	}
	var groups []menuGroup
	for _, group := range []struct {
		name    string
		entries []entry
	}{
		{"Work", []entry{
			{"Overview", "overview", lineshaft.PermissionRunsRead},
			{"Runs", "runs", lineshaft.PermissionRunsRead},
			{"Schedules", "schedules", lineshaft.PermissionFactoriesRead},
		}},
		{"Build", []entry{
			{"Factories", "factories", lineshaft.PermissionFactoriesRead},
			{"Agents", "agents", lineshaft.PermissionFactoriesRead},
			{"Automations", "automations", lineshaft.PermissionFactoriesRead},
			{"Webhooks", "webhooks", lineshaft.PermissionFactoriesRead},
			{"Notifications", "notifications", lineshaft.PermissionFactoriesRead},
		}},
		{"Platform", []entry{
			{"Environments", "environments", lineshaft.PermissionFactoriesRead},
			{"Secrets", "secrets", lineshaft.PermissionSecrets},
			{"Workers", "workers", lineshaft.PermissionServerRead},
		}},
		{"Admin", []entry{
			{"Keys", "keys", lineshaft.PermissionKeys},
			{"Audit", "audit", lineshaft.PermissionAudit},
			{"Sessions", "sessions", lineshaft.PermissionRunsRead},
			{"Settings", "settings", lineshaft.PermissionKeys},
		}},
	} {
		g := menuGroup{Name: group.name}
		for _, e := range group.entries {
			if !role.May(e.needs) {
				continue
			}
			href := "/" + e.section
			if e.section == "overview" {
				href = "/"
			}
			g.Items = append(g.Items, menuItem{Name: e.name, Href: href, Icon: e.section, Here: e.section == section})
		}
		if len(g.Items) > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}
