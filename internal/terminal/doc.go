// Package terminal is what programs that live on a terminal need, and nothing more:
// text of others made harmless, lines of styled text that know how wide they are and
// wrap, Markdown as such lines, a region at the bottom that is redrawn in place, a full
// screen, and typing that comes key by key.
//
// What a Line writes cannot move the cursor: its text is cleaned at the very end, whoever
// wrote it. Package terminaltest has a screen for tests.
package terminal
