// Package definition knows factories as folders of files (F-2): it reads and checks
// them with the place of every mistake, writes them, and compares two.
//
// It is pure: it does no I/O except through the file systems and readers that it is
// given, and knows nothing of the store. What a definition refers to outside of
// itself, such as secrets, is checked where it is applied.
package definition
