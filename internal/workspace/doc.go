// Package workspace keeps the folders that agents work in: it makes them, places
// files in them, collects the artifacts an agent leaves, and packs and unpacks
// snapshots so that a run can continue elsewhere.
//
// The agent owns the inside of its folder and may be hostile: every access from
// the host goes through [os.Root] or internal/tree, never follows a symbolic link out, opens only
// regular files, and takes no file that has a name outside the folder as well.
// The package does not start anything, knows no lease and talks to no server; the
// worker does.
//
// A folder belongs to one run. <data>/workspaces/<run id>/ holds work/, which the
// agent sees, and state.json, which it does not.
package workspace
