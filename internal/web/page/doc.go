// Package page is what all pages of the dashboard are made with, and decides nothing itself.
// It knows no noun: the rooms next to it do, each with its templates.
//
// site.go mounts the routes of the rooms and adds the headers (guard); login.go asks for a
// session and a permission (signedIn), with attempts.go, cookie.go, oidc.go, rate.go and
// visitor.go; routes.go has what a handler gets and how routes are combined (With reads
// what an address names, Show renders what a function makes); page.go answers (Render, Again,
// Fragment, Done, fail) with templates/layout.html and parts.html; form.go has the rows of
// forms; remove.go asks before something is removed for good; stream.go sends Server-Sent Events.
// address.go, format.go, text.go, layout.go, diff.go and markdown.go turn values into addresses
// and text. assets.go joins static/css and static/js into one file each, named after
// its content.
package page
