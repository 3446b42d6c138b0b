// Package overlay shows a folder that nobody may change as one that can be written to:
// what is written goes to a folder beside it. The mount belongs to the machine, not
// to a process: [Clear] removes a mount that a killed process left.
package overlay
