// Package cli is the lineshaft command: it reads arguments, environment and files,
// talks to a server through package client and prints for people and for programs.
//
// It holds no rules of the product and opens no database: what runs in this process
// (serve, migrate, doctor, supervise) is handed in as functions, so that tests need no
// server; Program has the real ones. Only main may import it.
//
// Exit codes: 0 done, 1 failed, 2 used wrongly, 3 not found, 4 denied. What was asked
// for goes to standard output, everything else to standard error. Colour and progress
// appear only on a terminal, and never when NO_COLOR is set.
package cli
