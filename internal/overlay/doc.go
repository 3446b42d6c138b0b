// Package overlay shows a folder that nobody may change as one that can be written to:
// what is written goes to a folder beside it. The mount belongs to the machine, not
// to a process: one that is left by a process that was killed goes with [Clear].
package overlay
