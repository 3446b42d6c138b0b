// Package web serves the dashboard: pages for people, rendered on the server with
// html/template, embedded in the binary, and made livelier by htmx. It calls control
// like every other transport and decides nothing itself.
//
// Each of its rooms has the pages of some nouns, with their templates and their routes: runs,
// factories (with agents, automations and schedules), hooks (webhooks and notifications),
// platform (environments, secrets, workers, keys, sessions, audit log, settings) and overview.
// They know nothing of each other, and share what is in page. A request goes: page (session,
// permission, limits) → the table of routes of a room → the noun's file, such as run.go or
// webhook.go, with files beside it named after the noun for its forms, actions and words →
// page (Render) → the layout, the parts, and the room's template. A named template of a page
// is what htmx puts into it without reading the whole page again.
//
// A POST changes something and redirects with a notice (Done), or shows its form again with
// what is wrong (Again). An action that cannot be undone asks first (Removing). A secret is shown in
// the answer to the POST that made it, and nowhere else.
//
// Live pages follow Server-Sent Events: runs/runevents.go sends a run's transcript as HTML
// that transcript.go, tool.go and diff.go made of its events; runs/runlive.go notifies a list
// of the runs that have changed.
package web
