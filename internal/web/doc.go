// Package web serves the dashboard: pages for people, rendered on the server with
// html/template, embedded in the binary, and made livelier by htmx. It calls control
// like every other transport and decides nothing itself.
//
// A request goes: web.go (New mounts everything; guard adds the headers and refuses
// other origins) → login.go (signedIn asks for a session and a permission) → routes.go
// (the table of all routes; each noun lists its own) → the noun's file, such as run.go
// or webhook.go, with files beside it named after the noun for its forms, actions and
// words (runlist.go, webhookcreate.go, automationform.go) → page.go (render, renderAgain,
// fragment, done, fail) → templates/layout.html with parts.html and one file for each page.
// A named template of a page is what htmx puts into it without reading the whole again.
//
// A POST changes something and redirects with a notice (done), or shows its form again
// with what is wrong (renderAgain). What cannot be undone asks first (remove.go). A secret
// is shown in the answer to the POST that made it, and nowhere else.
//
// Live pages follow Server-Sent Events (stream.go): runevents.go sends a run's transcript
// as HTML that transcript.go, tool.go and diff.go made of its events; runlive.go tells a
// list which runs have changed. attempts.go, cookie.go, oidc.go, session.go and visitor.go
// are about signing in; chart.go, tile.go and timeline.go draw; address.go, format.go,
// text.go, markdown.go and the files ending in words.go turn values into addresses and
// text. assets.go puts static/css and static/js together into one file each, named after
// its content.
package web
