// Package docs holds the documentation of Lineshaft, which a server shows at /docs.
package docs

import "embed"

// Files holds every page, by its path in this folder. Pictures are not among them.
//
//go:embed *.md concepts/*.md decisions/*.md deploy/*.md guides/*.md operate/*.md reference/*.md
var Files embed.FS
