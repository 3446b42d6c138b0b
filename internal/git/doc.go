// Package git reads and clones repositories with the git program.
//
// It is for definitions that factories follow, for skills and for workspaces.
// Those who name a repository need not be trusted: addresses are checked before git
// sees them, git gets no configuration but ours, runs no hooks and follows no
// redirects, and what it fetches is bounded in time and size. No credential appears
// in an argument, in a configuration or in a workspace.
//
// A Client may be used by many at once, and several processes may share a cache.
package git
