// Package sandbox starts an agent so that its whole process tree can be ended
// for certain, under limits and with a clean environment.
//
// Agents start their tools in new sessions, double-fork and ignore SIGTERM, so
// killing a process or its group is not enough. Every agent therefore gets a
// supervisor: a second process of our own binary (see [Supervise]) that is the
// child subreaper of everything the agent starts. It ends the tree when it is
// ordered to, when the process that started it dies, when it was not fed for
// [Spec.FeedWithin], and when the agent itself has ended; only when nothing is
// left does [Process.Wait] return. A worker that is killed, stopped or cut off
// from the control plane thus cannot leave a live agent behind.
//
// Two sandboxes share that machinery. None is for trusted machines: no
// isolation, but the same certain end and, where control groups allow, the same
// limits. Bubblewrap adds its own process, IPC, host-name and mount namespaces,
// a read-only system, a private /tmp and another user than the server's.
//
// The package knows nothing of runs, leases or harnesses: it gets a command and
// a folder, and gives back how the command ended. What the agent prints goes to
// the writers of the caller unchanged; masking secrets is not done here.
package sandbox
