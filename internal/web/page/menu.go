package page

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

// menuEntry is a section: its name, the word for it in addresses and icons, and what it takes.
type menuEntry struct {
	name, section string
	needs         lineshaft.Permission
}

// menu lists what a role may open.
func menu(role lineshaft.Role, section string) []menuGroup {
	var groups []menuGroup
	for _, group := range menuTable() {
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

// Sections are the pages of the menu that a role may open, with their icons.
func Sections(role lineshaft.Role) []Section {
	var list []Section
	for _, group := range menu(role, "") {
		for _, item := range group.Items {
			list = append(list, Section{item.Name, item.Href, item.Icon})
		}
	}
	return list
}

// Section is an entry of the menu.
type Section struct{ Name, Href, Icon string }

type menuPart struct {
	name    string
	entries []menuEntry
}

func menuTable() []menuPart {
	return []menuPart{
		{"Work", []menuEntry{
			{"Overview", "overview", lineshaft.PermissionRunsRead},
			{"Runs", "runs", lineshaft.PermissionRunsRead},
			{"Deliveries", "deliveries", lineshaft.PermissionFactoriesRead},
			{"Costs", "costs", lineshaft.PermissionFactoriesRead},
			{"Schedules", "schedules", lineshaft.PermissionFactoriesRead},
		}},
		{"Build", []menuEntry{
			{"Factories", "factories", lineshaft.PermissionFactoriesRead},
			{"Agents", "agents", lineshaft.PermissionFactoriesRead},
			{"Automations", "automations", lineshaft.PermissionFactoriesRead},
			{"Webhooks", "webhooks", lineshaft.PermissionFactoriesRead},
			{"Notifications", "notifications", lineshaft.PermissionFactoriesRead},
		}},
		{"Platform", []menuEntry{
			{"Environments", "environments", lineshaft.PermissionFactoriesRead},
			{"Secrets", "secrets", lineshaft.PermissionSecrets},
			{"Workers", "workers", lineshaft.PermissionServerRead},
		}},
		{"Admin", []menuEntry{
			{"Keys", "keys", lineshaft.PermissionKeys},
			{"Audit", "audit", lineshaft.PermissionAudit},
			{"Sessions", "sessions", lineshaft.PermissionRunsRead},
			{"Settings", "settings", lineshaft.PermissionKeys},
		}},
	}
}

func sectionName(section string) string {
	for _, part := range menuTable() {
		for _, e := range part.entries {
			if e.section == section {
				return e.name
			}
		}
	}
	return section
}
