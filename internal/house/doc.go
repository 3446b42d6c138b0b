// Package house is the rules of this module, as tests: which room may import which, how
// large anything may grow, and what every file has to have.
package house
