// Package web serves pages for people: sign-in, the newest runs, and the session
// page that follows one run live. Pages are rendered on the server with
// html/template and embedded in the binary; the one script only appends what the
// event stream brings, as text.
//
// It calls control like every other transport and decides nothing itself. The full
// dashboard will grow here.
package web
