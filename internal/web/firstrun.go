package web

// runCommand is a line to copy that starts a run on any server: without a model the
// shell agent runs its block, and with one an agent understands it as well.
func runCommand(options, title, shell string) string {
	return "lineshaft run --follow " + options + "'" + title + "\n```sh\n" + shell + "\n```'"
}

// helloCommand starts the first run.
func helloCommand() string { return runCommand("", "Say hello", "echo hello") }
