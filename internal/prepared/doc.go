// Package prepared keeps the trees that set-up commands have made, so that a later run
// with the same recipe starts on a copy of one.
//
// A layer is a folder that nobody changes: <dir>/layers/<id>/ with tree/ and layer.json.
// It is written to <dir>/new/ and renamed when it is complete, so no run uses half a
// layer. Copies share nothing that a run could change: the file system shares their
// blocks where it can, and otherwise they have their own. Those who made a tree may be hostile:
// it is read through internal/tree, nothing in it is followed, run or believed, and a
// tree that a copy would change is not kept.
//
// One process uses a folder at a time. The package starts nothing and knows no run.
package prepared
