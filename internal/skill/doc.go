// Package skill reads SKILL.md files: their front matter, where a repository
// keeps them, and the places that they have for arguments. It also puts together
// what an agent is told first. It does no I/O.
package skill
