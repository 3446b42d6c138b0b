// Package prepared keeps the trees that set-up commands have made, so that a later run
// with the same recipe starts on a copy of one.
//
// A layer is a folder that nobody changes: <dir>/layers/<id>/ with tree/ and layer.json.
// It is written to <dir>/new/ and renamed when it is complete, so half of one is never
// used. Copies share nothing that a run could change: their blocks are the file system's
// to share, where it can, and their own otherwise. Those who made a tree may be hostile:
// it is read through internal/tree, nothing in it is followed, run or believed, and a
// tree that a copy would change is not kept.
//
// One process uses a folder at a time. The package starts nothing and knows no run.
package prepared
